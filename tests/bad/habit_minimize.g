entry train(x : f32[8, 2], y : f32[8, 1]) {
  loss = mse(linear(x, 1), y)
  minimize(loss)
  minimize(loss, sgd(0.1))
  minimize loss
  sgd(0.1).minimize(loss)
  return loss
}
