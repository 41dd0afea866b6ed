def net(x) {
  x = relu(linear(x, 8))
  return linear(x, 8)
}
entry train(x : f32[4, 8]) {
  loss = mean(net(x))
  minimize loss with sgd(0.1)
  return loss
}
