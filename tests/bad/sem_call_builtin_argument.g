entry f(x : f32[4, 8]) {
  return z = sum(x, axes = 0)
}
