# States in slices on ranks: one that begins with random numbers, sums in the update, clipped and accumulated gradients,
# slices of which the last is short, pairs of rows, whose gradients are reduce-scattered to the ranks that have the rows,
# gradients that a loop sums, moving averages, which another entry reads, and squares of what looks like a variance:
# around 0.3 of a sum, and around the mean along another axis.
hyper lr = 1e-2
state ema = like params("a")
def nag(p, g, lr) {
  state m : f32[shape(p)] = zeros()
  state slow : f32[shape(p)] = normal(std = 0.1)
  m := 0.9 * m + g
  slow := 0.5 * slow + 0.5 * (p - lr * m)
  p := 0.3 * slow + 0.7 * p - lr * m / (1 + sqrt(sum(g * g + 0.01 * slow ** 2)))
}
entry train(x : f32[12, 6], label : u8[12]) {
  y = linear(relu(linear(x, 7) as a), 4) as b
  loss = mean(xent(y, label % 4))
  pairs = mean((y @ y') ** 2)
  around = y - 0.3 * sum(y, axis = 0)
  z = reshape(y, [12, 2, 2])
  across = z - reshape(mean(z, axis = [0, 1]), [2, 1])
  squares = mean(sum(around * around, axis = 0)) + mean(sum(across * across, axis = [0, 1]) ** 2)
  h = zeros([12, 4])
  scan i in 0..2 {
    h = tanh(h + linear(dynamic_slice(x, i, 3, axis = 1), 4) as cell + embed(label % 4 + i, 6, 4) as table)
  }
  minimize loss + 0.1 * pairs + 0.1 * squares + mean(h ** 2) with nag(lr), clip = 1, accumulate = 2
  ema := 0.9 * ema + 0.1 * params("a")
  return loss
}
entry test(x : f32[12, 6]) {
  with ema { y = linear(x, 7) as a }
  return spread = mean(y ** 2)
}
