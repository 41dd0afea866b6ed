# RUN: %gc %s -O2 --emit=ir | FileCheck-14 %s
# One plan of the entry for each rule orders all of its 3,000 loops.
def layer(x) {
  param w : f32[8, 8] = glorot()
  h = x
  scan i in 0..4 { h = tanh(h @ w) }
  return h
}
entry train(x : f32[8, 8]) {
  h = x
  for k in 0..1500 { h = layer(h) as l[k] }
  loss = sum(h)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: scan
