# args: --memory-limit=10K --dump-plan -march=x86-64-v3
# exit: 1
entry train(x : f32[12, 8, 16], t : f32[8, 16]) {
  h, c = zeros([8, 16]), zeros([8, 16])
  scan i in 0..12 { h, c = lstm(x[i], h, c) as l }
  loss = mse(h, t)
  minimize loss with sgd(0.1)
  return loss
}
