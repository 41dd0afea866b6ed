def lazy(p, g, lr) { q = p - lr * g }
entry train(x : f32[4, 8]) {
  loss = mean(linear(x, 10))
  minimize loss with lazy(0.1)
  return loss
}
