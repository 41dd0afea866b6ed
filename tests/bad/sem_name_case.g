let B = 8
entry train(x : f32[b, 2], y : f32[B, 1]) {
  loss = MSE(linear(x, 1), y)
  minimize loss with RMSProp(0.1)
  return loss
}
