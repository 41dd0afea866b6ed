# Batch norm of a static and of a bounded batch, of images and of rows. ghost.g is the same by the rows of each of R ranks.
let N = 8
let R = 1
hyper lr = 1e-2
def net(x) { return linear(tanh(bn(linear(flatten(relu(bn(conv(x, 3, 3, bias = false) as c) as n1)), 6, bias = false) as a) as n2), 4) as b }
entry train(x : f32[N, 2, 4, 4], label : u8[N]) {
  loss = mean(xent(net(x), label % 4))
  minimize loss with adam(lr), clip = 1
  return loss
}
entry bounded(x : f32[n <= N, 2, 4, 4], label : u8[n]) {
  loss = mean(xent(net(x), label % 4))
  minimize loss with adam(lr), clip = 1
  return loss
}
