entry f(x : f32[n <= 8, 4], y : f32[m <= 8, 4], z : f32[8, 4]) {
  a = x + z
  return a, b = x + y
}
