# RUN: %gc -O2 -march=x86-64-v3 --emit=ir --passes=fold,cse,dce,autodiff,fold,cse,dce,fuse %s -o - | FileCheck-14 %s
# RUN: %gc -O2 -march=x86-64-v3 --remarks=fuse --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s --check-prefix=WHY
# One table serves the first layer and the last. The last one's part of its gradient does not wait for the
# first one's, which comes at the end of the backward pass: the wide result would be held as long.
entry train(x : f32[8, 16], t : f32[8, 64]) {
  param w : f32[16, 64] = glorot()
  h = tanh(x @ w)
  h = tanh(linear(h, 64) as a)
  h = tanh(linear(h, 16) as b)
  minimize mse(h @ w, t) with sgd(0.1)
  return h
}
# CHECK: entry train
# CHECK: matmul {{.*}} {ta = 1} : f32[16,64] backward
# CHECK: matmul+mul+sub
# CHECK: matmul+mul+sub
# CHECK: kernel {{.*}} {name = "matmul+add+mul+1"} : f32[16,64]
# WHY: remark: add does not join matmul of {{.*}}: a kernel has one product or one reduction over columns [fuse-missed]
