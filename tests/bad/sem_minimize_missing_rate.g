entry train(x : f32[4, 8]) {
  loss = mean(linear(x, 10))
  minimize loss with adamw(decay = 0.01)
  return loss
}
