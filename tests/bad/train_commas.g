hyper lr = 0.1
def net(x : f32[n, 3], y : i32[n]) { return mean(xent(linear(x, 5) as fc, y)) }
entry by(x : f32[4, 3], y : i32[4]) {
  loss = net(x, y)
  update params("net") with sgd(lr) by = grad(loss, params("net"))
}
entry skip(x : f32[4, 3], y : i32[4]) {
  loss = net(x, y)
  minimize loss with sgd(lr), clip = norm(x) if = loss < 9
}
entry clip(x : f32[4, 3], y : i32[4]) {
  loss = net(x, y)
  minimize loss with sgd(lr) clip = 1
}
entry only(x : f32[4, 3], y : i32[4]) {
  loss = net(x, y)
  minimize loss with sgd(lr), clip = 1 only = "net.fc"
}
