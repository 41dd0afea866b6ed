entry f(x : f32[8]) {
  param w : f32[8] = x * 2
  return y = x + w
}
