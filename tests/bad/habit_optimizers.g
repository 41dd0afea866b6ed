# an optimizer, its state and a schedule as others write them
state ema = params("net")
def by_hand(p, g, lr) {
  if p.ndim == 2 { p -= lr * g }
}
def net(x) { return linear(x, 3) as fc }
entry train(x : f32[8, 4], y : i32[8]) {
  loss = cross_entropy(custom_grad(fwd, bwd)(net(x)), y)
  minimize loss with adam(cosine(0.1, total = 100))
  return loss
}
