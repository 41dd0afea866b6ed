# local_norm.g for one process: statistics of each of R runs of rows, and running averages of those of all.
let N = 8
let R = 2
hyper lr = 1e-2
def bn(x) {
  c = dim(x, 1)
  param g : f32[dim(x, 1)] = ones()
  param b : f32[dim(x, 1)] = zeros()
  state running_mean : f32[dim(x, 1)] = zeros()
  state running_var : f32[dim(x, 1)] = ones()
  axes = [0, 2, 3] if len(shape(x)) == 4 else [0]
  n = prod(shape(x)) / c
  running_mean := 0.9 * running_mean + 0.1 * mean(x, axis = axes)
  running_var := 0.9 * running_var + 0.1 * n / (n - 1) * var(x, axis = axes)
  y = reshape(x, [R, N / R, c, n / N])
  y = y - mean(y, axis = [1, 3], keep = true)
  y = y / sqrt(mean(y * y, axis = [1, 3], keep = true) + 1e-5)
  return reshape(y * reshape(g, [c, 1]) + reshape(b, [c, 1]), shape(x))
}
def net(x) { return linear(tanh(bn(linear(flatten(relu(bn(conv(x, 3, 3, bias = false) as c) as n1)), 6, bias = false) as a) as n2), 4) as b }
entry train(x : f32[N, 2, 4, 4], label : u8[N]) {
  loss = mean(xent(net(x), label % 4))
  minimize loss with adam(lr), clip = 1
  return loss
}
entry bounded(x : f32[N, 2, 4, 4], label : u8[N]) {
  loss = mean(xent(net(x), label % 4))
  minimize loss with adam(lr), clip = 1
  return loss
}
