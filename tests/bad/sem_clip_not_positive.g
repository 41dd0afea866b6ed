entry train(x : f32[4, 8]) {
  loss = mean(linear(x, 10))
  minimize loss with sgd(0.1, clip = -1)
  return loss
}
