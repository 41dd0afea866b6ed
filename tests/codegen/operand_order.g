# RUN: %gc -O2 --emit=c %s -o - | grep -oE 'v[0-9]+ [*+] v[0-9]+' | tr -d v | awk '$1 > $3 { print; bad = 1 } END { exit bad }'
# Operands of sums and products stand in the order of their numbers, so that kernels that compute the same are
# one text.
entry step(x : f32[12, 16, 32], y : f32[16, 32]) {
  param w : f32[32, 32] = glorot()
  h = zeros([16, 32])
  scan i in 0..12 { h = tanh(h @ w + x[i]) * sigmoid(h) }
  loss = mse(h, y)
  return dw = grad(loss, w)
}
