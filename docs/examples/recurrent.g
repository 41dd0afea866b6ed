# recurrent.g: a loop and its gradient, small enough to follow its stacks (docs/memory-limit.md)
entry step(x : f32[12, n <= 16, 32], y : f32[n, 32]) {
  param w : f32[32, 32] = glorot()
  h = zeros([n, 32])
  scan i in 0..12 { h = tanh(h @ w + x[i]) * sigmoid(h) }
  loss = mse(h, y)
  return dw = grad(loss, w)
}
