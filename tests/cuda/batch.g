# small launches of one kernel that become one: updates of weights of equal shapes, which other launches stand between,
# and one that waits for another
entry train(x : f32[6, 40], t : f32[6, 40]) {
  param s : f32[40] = 1
  y = x
  for i in 0..4 { y = tanh(linear(y, 40) as layer[i]) * s }
  loss = mse(y, t)
  minimize loss with adamw(0.01, clip = 1)
  return loss
}
entry chain(x : f32[24], y : f32[24], z : f32[24]) {
  a = cumsum(x)
  b = cumsum(y)
  c = cumsum(a)
  return a, b, c, d = cumsum(z)
}

# both sums over the columns are one launch, in each of the layers
entry layers(x : f32[300, 70]) {
  y = x
  for i in 0..5 { y = y * (1 + 0.001 * sum(y, 0)) + 0.001 * sum(y * y, 0) }
  return y
}

# short kernels of any kinds become one launch, though no other launch is like it; what reads one of them waits
entry once(x : f32[30], y : f32[40, 5], z : i32[7, 3]) {
  a = exp(x) * 2
  b = y + 1 / (1 + y * y)
  return a, b, c = reverse(z, 1), d = reverse(a, 0), e = z @ i32([[1], [2], [3]])
}
