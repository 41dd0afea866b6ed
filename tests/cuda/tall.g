# heads longer than 1,024 numbers, with their gradients: several blocks of threads share the columns of each
entry tall(q : f32[3, 1030], k : f32[4, 1030], v : f32[4, 270], w : f32[3, 270], m : f32[1, 4]) {
  y = attention(q, k, v, mask = m > 0)
  dq, dk, dv = grad(sum(y * w), [q, k, v])
  return y, dq, dk, dv
}
