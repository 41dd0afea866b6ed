hyper lr = 0.1
hyper on = true
def net(x : f32[n, 3], y : i32[n]) { return mean(xent(linear(x, 5) as fc, y)) }
entry given(x : f32[4, 3], y : i32[4]) {
  loss = net(x, y)
  if on { minimize loss with sgd(lr) }
  return loss
}
entry small(x : f32[4, 3], y : i32[4]) {
  loss = net(x, y)
  if loss < 9 { update params("net") with sgd(lr), by = grad(loss, params("net")) }
  return loss
}
entry swapped(x : f32[4, 3], y : i32[4]) {
  return loss = cross_entropy(y, linear(x, 5) as fc)
}
entry not_swapped(x : f32[4, 3], y : i32[4]) {
  return loss = cross_entropy(y, x[:, 0])
}
