entry train(x : f32[4, 8], t : u8[4]) {
  loss = mean(xent(x, t))
  minimize loss with sgd(0.1)
  return loss
}
