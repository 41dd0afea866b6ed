def first(x) {
  param w : f32[8] = zeros()
  return x + w
}
def second(x) {
  param w : f32[8] = normal(std = 0.02)
  return x + w
}
entry a(x : f32[4, 8]) {
  return y = second(first(x) as f) as f
}
