entry e(x : f32) {
  minimize x
  minimize x with sgd
  minimize with sgd(1)
  return x
}
