# args: --weights=q8 --emit=ir
entry train(x : f32[4, 64]) {
  loss = mean(linear(x, 8) as fc)
  minimize loss with sgd(0.1)
  return loss
}
