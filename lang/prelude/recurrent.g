# ---- one step of a recurrent layer: cell(x[:, t], h) as cell in a loop ----

# a plain recurrent layer: tanh(x @ wx + h @ wh + b)
def rnn(x : [..., d], h : [..., units]) {
  param wx : f32[d, units] = glorot()
  param wh : f32[units, units] = orthogonal()
  param b : f32[units] = zeros()
  return tanh(x @ wx + h @ wh + b)
}

# LSTM: the next h and c. Columns of the weights: input, forget, cell, output
def lstm(x : [..., d], h : [..., units], c : [..., units]) {
  param wx : f32[d, 4 * units] = glorot()
  param wh : f32[units, 4 * units] = glorot()
  param b : f32[4 * units] = zeros()
  i, f, g, o = split(x @ wx + h @ wh + b, 4, axis = -1)
  c = sigmoid(f) * c + sigmoid(i) * tanh(g)
  return sigmoid(o) * tanh(c), c
}

# GRU. Columns of the weights: reset, update, new; the reset gate applies to h @ wh + bh
def gru(x : [..., d], h : [..., units]) {
  param wx : f32[d, 3 * units] = glorot()
  param wh : f32[units, 3 * units] = glorot()
  param bx : f32[3 * units] = zeros()
  param bh : f32[3 * units] = zeros()
  xr, xz, xn = split(x @ wx + bx, 3, axis = -1)
  hr, hz, hn = split(h @ wh + bh, 3, axis = -1)
  z = sigmoid(xz + hz)
  n = tanh(xn + sigmoid(xr + hr) * hn)
  return (1 - z) * n + z * h
}
