entry f(x : f32[n <= 8, t <= 4, 6]) {
  y = linear(x, 3)
  minimize mean(y) with sgd(0.1)
  return y
}
