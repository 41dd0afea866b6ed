hyper lr = [1, 2]
entry f(x : f32[3]) {
  return y = x * lr
}
