entry f(x : f32[3]) {
  return y = mse(x, x[0:2])
}
