def net(x) { return linear(x, 3) as fc }
entry f(x : f32[4, 3]) {
  loss = mean(net(x))
  g = grad(loss, params("net"))
  update params("net") with sgd(0.1) if mean(p) > 0, sgd(0.2), by = g
  update params("net") with sgd(0.1) if rank(p), by = g
  update params("net") with sgd(0.1), by = g, if = norm(g)
  update params("net") with sgd(0.1), by = g, only = "net.fc"
  minimize loss with sgd(0.1), by = g
  minimize loss with sgd(0.1, clip = 1), clip = 1
  update params("net") with sgd(0.1, only = "net.fc"), by = g
  return loss
}
