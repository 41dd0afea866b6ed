# trap.g: b is read again after sigmoid, so sigmoid must not write over it (docs/memory.md)
entry main(x : f32[64, 256]) {
  b = tanh(x)
  c = sigmoid(b)
  return f = b * c
}
