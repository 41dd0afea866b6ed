# Each element-wise value of the body is read twice: whether the backward body can have it is found once a value,
# not once a path, of which there are 10^41 here.
# RUN: %gc --emit=ir -O0 --passes=fold,cse,dce,autodiff,dce %s | FileCheck-14 %s
def f(x) {
  a = x
  b = x * 2.0
  for k in 0..200 {
    c = a + b
    a = b
    b = c
  }
  return b
}
entry train(xs : f32[8, 4]) {
  param w : f32[4] = ones()
  h = zeros([4])
  scan i in 0..8 { h = h + f(xs[i]) * w }
  loss = sum(h)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK-LABEL: entry train
# CHECK-COUNT-200: add
# CHECK: store @w
