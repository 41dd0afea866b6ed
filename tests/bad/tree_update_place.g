def train(x) {
  update params("net") with sgd(0.1), by = params("net")
  return x
}
entry f(x : f32[4, 3]) {
  scan i in 0..3 { update params("net") with sgd(0.1), by = params("net") }
  return train(x)
}
