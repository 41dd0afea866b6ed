entry f(q : f32[2, 4, 8], m : f32[4, 4]) {
  return y = attention(q, q, q, mask = m)
}
