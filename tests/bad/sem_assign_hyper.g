hyper lr = 0.1
entry f(x : f32[8]) {
  lr := 0.2
  return y = x * lr
}
