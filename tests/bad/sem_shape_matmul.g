entry f(x : f32[64, 256], w : f32[128, 10]) {
  return z = x @ w
}
