entry train(x : f32[4, 8]) {
  for i in 0..3 { x = relu(linear(x, 8)) }
  loss = mean(x)
  minimize loss with sgd(0.1)
  return loss
}
