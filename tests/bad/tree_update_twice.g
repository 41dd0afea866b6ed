def net(x) { return linear(x, 3) as fc }
entry f(x : f32[4, 3]) {
  loss = mean(net(x))
  g = grad(loss, params("net"))
  minimize loss with sgd(0.1)
  update params("net") with sgd(0.1), by = g
  return loss
}
