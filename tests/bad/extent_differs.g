entry f(x : f32[n <= 8, 4], y : f32[m <= 8, 4], z : f32[8, 4], w : f32[n + 1, 4], u : f32[2 * n, 4]) {
  a = x + z
  b = w + x
  c = u + z
  return a, b, c, d = x + y
}
