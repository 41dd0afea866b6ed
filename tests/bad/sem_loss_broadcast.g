# args: --emit=ir --passes=
# exit: 0
# a loss over all pairs is a slip; numbers, rows for all and equal shapes are none
def error(x, y) { return huber(linear(x, 1), y) }
entry train(x : f32[8, 2], y : f32[8]) {
  loss = mse(linear(x, 1) as a, y) + bce(linear(x, 1) as b, y)
  loss = loss + mse(linear(x, 1) as c, reshape(y, [8, 1])) + mse(y, 0) + mse(x, x[0])
  minimize loss + error(x, y) with sgd(0.1)
  return loss
}
