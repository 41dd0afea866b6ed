# args: --emit=c
entry f(x : f32[n <= 8, 6, 4], y : f32[n, 5]) {
  h = zeros([n, 5])
  scan i in 0..6 { h = rnn(x[:, i], h) as cell }
  minimize mse(h, y) with sgd(0.1)
  return loss = mse(h, y)
}
