entry a(x : f32[8]) {
  param w : f32[8] = zeros()
  return y = x + w
}
entry b(x : f32[8]) {
  state w : f32[8] = zeros()
  return y = x + w
}
