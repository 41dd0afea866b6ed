entry train(x : f32[4, 3]) {
  scan i in 0..3 { x = x + linear(x, 3) }
  loss = mean(x * x)
  minimize loss with sgd(0.1)
  return loss
}
