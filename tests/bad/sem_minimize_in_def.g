def net(x) {
  loss = mean(linear(x, 10))
  minimize loss with sgd(0.1)
  return loss
}
entry train(x : f32[4, 8]) {
  return loss = net(x)
}
