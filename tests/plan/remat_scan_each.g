# RUN: %gc --memory-limit=16384 --remarks=remat %s -march=x86-64-v3 --emit=ir -o %t.ir 2> %t.txt
# RUN: FileCheck-14 %s < %t.ir
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.txt
# The softmax of h is not stacked: h is, for the gradient of w, and each iteration of the backward pass makes the
# softmax again of that, and nothing else.
let T = 13
entry train(x : f32[T, 8, 16], t : f32[8, 16]) {
  param w : f32[16, 16] = glorot()
  h = zeros([8, 16])
  scan i in 0..T { h = tanh(softmax(h) * x[i] + h @ w) }
  loss = mse(h, t)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK-LABEL: entry train
# CHECK: scan {{.*}} {trips = 13, carries = 1} : f32[8,16], f32[13,8,16], f32[13,8,16] {{[^ ]*}}g:10:3
# CHECK: scan %d.h, %{{[0-9]+}}, %h.1, %x, %h.2 {trips = 13, carries = 2, reverse = 1}
# CHECK-NOT: matmul
# CHECK: softmax
# WHY: remat_scan_each.g:10:{{[0-9]+}}: remark: each iteration of scan is recomputed before its backward pass: 6,656 bytes are not stacked [remat]
