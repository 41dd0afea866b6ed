# args: --emit=ir --passes=
# exit: 0
def net(x) { return linear(x, 2) as fc }
state ema = like params("net")
entry train(x : f32[4, 3]) {
  state seen : i32[] = zeros()
  param w : f32[] = ones()
  w = w / 2
  seen = seen + 1
  loss = mean(net(x)) * w
  minimize loss with sgd(0.1)
  ema = 0.9 * ema + 0.1 * params("net")
  return loss, seen
}
