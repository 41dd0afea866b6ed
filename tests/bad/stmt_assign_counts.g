def f(x) {
  a, b = 1, 2, 3
  c, d = x, x : f32[2]
  return a
}
