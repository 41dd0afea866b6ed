entry f(x : f32[64, 256], y : f32[128]) {
  return z = x + y
}
