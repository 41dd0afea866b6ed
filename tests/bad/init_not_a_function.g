entry f(x : f32[4, 3], ids : i32[4]) {
  a = linear(x, 2, init = he(2)) as a
  b = embed(ids, 8, 3, init = 0.02) as b
  c = conv(reshape(x, [1, 1, 4, 3]), 2, 3, init = [0, 1]) as c
  return a, b, c
}
entry g(x : f32[4, 3]) {
  param w : f32[3, 2] = glorot
  return y = x @ w
}
