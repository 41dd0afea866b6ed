# States in slices on ranks: one that begins with random numbers, sums in the update, clipped and accumulated gradients,
# and pairs of rows, whose gradients are reduce-scattered to the ranks that have the rows.
hyper lr = 1e-2
def nag(p, g, lr) {
  state m : f32[shape(p)] = zeros()
  state slow : f32[shape(p)] = normal(std = 0.1)
  m := 0.9 * m + g
  slow := 0.5 * slow + 0.5 * (p - lr * m)
  p := 0.3 * slow + 0.7 * p - lr * m / (1 + sqrt(sum(g * g)))
}
entry train(x : f32[8, 6], label : u8[8]) {
  y = linear(relu(linear(x, 8) as a), 4) as b
  loss = mean(xent(y, label % 4))
  pairs = mean((y @ y') ** 2)
  minimize loss + 0.1 * pairs with nag(lr), clip = 1, accumulate = 2
  return loss
}
