entry f(x : f32[4]) {
  for i in 0..3 {
    y = x * i
  }
  return y
}
def late(x) {
  y = h + w
  scope s {
    h = x * 2
  }
  param w : f32[4] = zeros()
  return y
}
entry g(x : f32[4]) { return late(x) }
entry i(x : f32[4]) {
  return linear(x[none, :], 7 / 2)
}
