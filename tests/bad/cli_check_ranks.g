# args: --check --data-parallel=mpi --ranks=3
def loss_of(x) { return mean((linear(x, 1) as fc) ** 2) }
entry fixed(x : f32[8, 4]) {
  loss = loss_of(x)
  minimize loss with sgd(0.1)
  return loss
}
entry bounded(x : f32[n <= 8, 4]) {
  loss = loss_of(x)
  minimize loss with sgd(0.1)
  return loss
}
entry inner(x : f32[4, n <= 9]) {
  param w : f32[4] = zeros()
  loss = mean((w @ x) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
entry shares(x : f32[9, 4]) {
  loss = loss_of(x)
  minimize loss with sgd(0.1)
  return loss
}
entry infers(x : f32[8, 4]) { return loss = loss_of(x) }
