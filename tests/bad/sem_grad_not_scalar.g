entry f(x : f32[4]) {
  return g = grad(x * x, x)
}
