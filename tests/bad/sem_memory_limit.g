# args: --memory-limit=40K --dump-plan -march=x86-64-v3
# exit: 1
entry train(x : f32[64, 64], t : f32[64, 64]) {
  y = softmax(linear(x, 64) as a)
  loss = mse(linear(y, 64) as b, t)
  minimize loss with sgd(0.1)
  return loss
}
