hyper lr = 0.1
def net(x) { return linear(x, 5) as fc }
state ema = like params("net")
entry a(x : f32[4, 3]) {
  loss = mean(net(x))
  update params("net") with sgd(lr)
}
entry b(x : f32[4, 3]) {
  loss = mean(net(x))
  update params("net") with sgd(lr), by = grad(loss, params("net")), if = 1
}
entry c(x : f32[4, 3]) {
  loss = mean(net(x))
  update loss with sgd(lr), by = grad(loss, params("net"))
}
entry d(x : f32[4, 3]) {
  ema = 0.9 * ema
  return y = net(x)
}
entry e(x : f32[4, 3]) {
  y = net(x)
  return y, t = params("net")
}
entry g(x : f32[4, 3]) {
  y = net(x)
  return y, t = params("net")[0]
}
entry h(x : f32[4, 3]) {
  loss = mean(net(x))
  minimize loss with sgd(lr), by = grad(loss, params("net"))
}
