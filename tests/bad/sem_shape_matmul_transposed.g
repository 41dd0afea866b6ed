entry f(x : f32[64, 256], w : f32[10, 256]) {
  y = relu(x)
  return z = y @ w
}
