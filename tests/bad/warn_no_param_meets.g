# exit: 0
# args: --check
hyper lr = 0.1
def net(x) { return linear(x, 5) as fc }
entry all_the_same(x : f32[4, 3]) {
  loss = mean(net(x))
  minimize loss with sgd(lr) if rank(loss) > 1, sgd(lr / 2) if path(p) == "fc.w"
}
entry tree(x : f32[4, 3]) {
  loss = mean(net(x))
  update params("net") with sgd(lr) if rank(p) == 3, by = grad(loss, params("net"))
}
entry some(x : f32[4, 3]) {
  loss = mean(net(x))
  minimize loss with sgd(lr) if rank(p) > 1
}
entry none_of_two(x : f32[4, 3]) {
  loss = mean(linear(net(x), 2) as top)
  minimize loss with sgd(lr) if path(p) == "top.w", adam(lr) if path(p) == "top.b"
}
entry only(x : f32[4, 3]) {
  loss = mean(net(x))
  minimize loss with sgd(lr) if rank(p) > 1, adam(lr) if rank(p) == 1, only = "net.fc.w"
}
