# args: --emit=ir --passes=
# exit: 0
# The averages are those of net, but objective calls the net that is trained, at another path.
let n = 4
state ema = like params("net")
state kept = like params("frozen")
def net(x : [n, 6]) { return x |> linear(8) as hidden |> relu |> linear(3) as out }
def objective(x, y) { return mean(xent(net(x), y)) }
entry train(x : f32[n, 6], y : i32[n]) {
  loss = objective(x, y)
  minimize loss with sgd(0.1)
  ema := 0.9 * ema + 0.1 * params("net")
  return loss
}
entry test(x : f32[n, 6]) {
  with ema { y = net(x) }
  return y
}
# a frozen net that the training reads, and a state like it: no warning
entry tune(x : f32[n, 6], y : i32[n]) {
  z = stop_gradient(net(x) as frozen)
  loss = mean(xent(linear(z, 3) as head, y))
  minimize loss with sgd(0.1)
  kept := 0.9 * kept + 0.1 * params("frozen")
  return loss
}
entry again(x : f32[n, 6]) {
  with kept { y = net(x) as frozen }
  return y
}
