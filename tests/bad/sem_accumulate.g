entry f(x : f32[2, 3]) {
  param w : f32[3] = zeros()
  minimize mean(x * w) with sgd(0.1, accumulate = 0)
}
