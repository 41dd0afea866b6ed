def net(x) { return linear(x, 3) as fc }
entry f(x : f32[4, 3]) {
  loss = mean(net(x))
  g = grad(loss, params("net"))
  update params("net") with sgd(0.1)
  update loss with sgd(0.1), by = g
  update params("net") with sgd(0.1), by = loss
  update params("net.fc.w") with sgd(0.1), by = g
  update params("net") with sgd(0.1), by = sum(g, axis = 0)
  update params("net") with sgd(0.1), by = mean(g, axis = 0)
  update 2 * params("net") with sgd(0.1), by = g
  return loss
}
