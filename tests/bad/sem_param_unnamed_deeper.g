def head(x) { return linear(x, 8) as fc }
def net(x) { return head(x) + head(x) }
entry train(x : f32[4, 8]) {
  loss = mean(net(x))
  minimize loss with sgd(0.1)
  return loss
}
