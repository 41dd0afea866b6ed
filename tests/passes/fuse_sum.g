# RUN: %gc -O2 -march=x86-64-v3 --emit=ir --passes=fold,cse,dce,autodiff,fold,cse,dce,fuse %s -o - | FileCheck-14 %s
# RUN: %gc -O2 -march=x86-64-v3 --dump-plan %s | FileCheck-14 %s --check-prefix=PLAN
# The gradient of a weight that is read in each of six steps is a sum of six products, of 256 KB each. Each
# product is computed with the sum so far, whichever comes first, so that one result of that size is there at a time.
entry train(x : f32[6, 8, 256], t : f32[6, 8, 256]) {
  param w : f32[256, 256] = glorot()
  param head : f32[256, 256] = glorot()
  h = zeros([8, 256])
  loss = 0.0
  for i in 0..6 {
    h = tanh(h @ w + x[i])
    loss = loss + mse(h @ head, t[i])
  }
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: entry train
# CHECK-NOT: name = "matmul+add+add
# CHECK: name = "matmul+add+mul+1"
# CHECK-NOT: name = "matmul+add+add
# CHECK: name = "matmul+add+mul+1"
# PLAN: entry train
# PLAN: arena (optimal) {{ *}}3{{[0-9][0-9]}},{{[0-9]+}}
