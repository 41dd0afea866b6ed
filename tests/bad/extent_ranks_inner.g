# args: --passes=fold,cse,dce,autodiff,distribute{ranks=2} --emit=ir
entry train(x : f32[n <= 8, 3], e : f32[2, n]) {
  loss = mean((linear(x, 1) as a) ** 2) + mean(e @ x) ** 2
  minimize loss with sgd(0.1)
  return loss
}
