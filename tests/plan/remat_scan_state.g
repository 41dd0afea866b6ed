# RUN: %gc --memory-limit=60% --remarks=remat %s -march=x86-64-v3 --emit=ir -o %t.ir 2> %t.txt
# RUN: FileCheck-14 %s < %t.ir
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.txt
# The loop reads the running statistics that it updates: they are stored when the backward pass, which runs its
# iterations again from the old ones, has ended.
let T = 16
entry train(x : f32[T, 8, 64], t : f32[8, 64]) {
  h = zeros([8, 64])
  scan i in 0..T { h = bn(tanh(linear(h, 64) as a + x[i])) as n }
  loss = mse(h, t)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK-LABEL: entry train
# CHECK-NOT: store @n.running
# CHECK: scan {{.*}} {trips = [[BLOCKS:[0-9]+]], carries = 5, reverse = 1}
# CHECK: store @n.running_mean
# WHY: remat_scan_state.g:9:{{[0-9]+}}: remark: {{[0-9]+}} of 16 iterations of scan are recomputed before their backward pass, {{[2-9]}} at a time
