entry f(x : f32[4, 8]) {
  return z = linear(x, 8, units = 9)
}
