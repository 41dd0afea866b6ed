entry f(x : f32[4, 3]) {
  minimize mean(linear(x, 3)) with sgd(0.1), clip = 1, clip = 2
  return x
}
