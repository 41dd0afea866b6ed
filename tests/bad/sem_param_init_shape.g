entry f(x : f32[8]) {
  param w : f32[8] = zeros([9])
  return y = x + w
}
