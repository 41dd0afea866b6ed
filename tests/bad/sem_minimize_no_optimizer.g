entry train(x : f32[4, 8]) {
  loss = mean(linear(x, 10))
  minimize loss with relu(0.1)
  return loss
}
