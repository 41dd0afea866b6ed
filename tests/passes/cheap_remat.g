# RUN: %gc --emit=ir --passes=fold,cse,dce,autodiff,fold,cse,dce,cheap-remat %s -o - | FileCheck-14 %s
# RUN: %gc --emit=ir --passes=fold,cse,dce,autodiff,fold,cse,dce %s -o - | FileCheck-14 %s --check-prefix=HELD
# In the backward pass the gelu's pieces are computed again from the product before it: one tanh before the
# second product, one more behind it. Without the pass all pieces wait for the backward pass.
entry train(x : f32[64, 64], t : f32[64, 64]) {
  y = gelu(linear(x, 64) as a, approx = true)
  z = linear(linear(y, 64) as b, 64) as c
  minimize mse(z, t) with sgd(0.1)
  return z
}
# CHECK: entry train
# CHECK: tanh
# CHECK: matmul
# CHECK: matmul
# CHECK: matmul
# CHECK: tanh
# CHECK: tanh_grad
# HELD: entry train
# HELD: tanh
# HELD-NOT: = tanh %
# HELD: tanh_grad
