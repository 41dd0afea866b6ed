# RUN: %gc -O2 -march=x86-64-v3 --emit=ir %s -o - | FileCheck-14 %s
# RUN: %gc -O2 --target=cuda --print-schedules %s | FileCheck-14 %s --check-prefix=ONE
# Squares of a bias's gradient, for the norm of all gradients, are computed where they are summed, since others read the
# gradient as well. Their sums are one launch, and so are the updates of equal weights, of more than a few thread blocks.
entry train(x : f32[16, 256], t : f32[16, 256]) {
  y = x
  for i in 0..3 { y = tanh(linear(y, 256) as layer[i]) }
  minimize mse(y, t) with adamw(0.01, clip = 1)
  return y
}
# CHECK-LABEL: entry train
# CHECK-NOT: {name = "sum+mul"} : f32[256], f32[256]
# CHECK: = kernel %d.layer.{{[0-9]}}.b {name = "sum+mul"} : f32[]
# ONE: sum rows rows=1 elements=256 {{.*}} at_once=2
# ONE: sub map elements=65536 {{.*}}blocks=192 {{.*}}at_once=3
