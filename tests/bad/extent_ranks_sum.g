# args: --passes=fold,cse,dce,autodiff,distribute{ranks=2} --emit=ir
entry train(x : f32[2 * n + 1 <= 17, 3], e : f32[n + 1, 3]) {
  loss = mean((linear(x, 1) as a) ** 2) + mean((linear(e, 1) as b) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
