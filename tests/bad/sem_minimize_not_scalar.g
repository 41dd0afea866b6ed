entry train(x : f32[4, 8], t : u8[4]) {
  loss = xent(linear(x, 10), t)
  minimize loss with sgd(0.1)
  return loss = mean(loss)
}
