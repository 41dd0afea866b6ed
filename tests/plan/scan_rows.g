# RUN: %gc %s -O2 -march=x86-64-v3 --emit=ir | FileCheck-14 %s
# RUN: %gc %s -O2 -march=x86-64-v3 --dump-plan --emit=plan -o /dev/null | FileCheck-14 %s --check-prefix=PLAN
# RUN: %gc %s -O2 -march=x86-64-v3 --dump-plan -D T=700 --emit=plan -o /dev/null | FileCheck-14 %s --check-prefix=LONG
# Row i along the second axis is read where it lies: at inference the arena holds one row, not another copy
# of x, and does not grow with the steps. Of a tensor that the loop changes rows are read alike.
let T = 7
def net(x : [b, t, d]) {
  h, c = zeros([b, 8]), zeros([b, 8])
  scan i in 0..t { h, c = lstm(x[:, t - 1 - i], h, c) as cell }
  return h
}
entry infer(x : f32[4, T, 16]) { return net(x) }
# CHECK-LABEL: entry infer
# CHECK-NOT:   transpose
# CHECK:       scan
# CHECK:       [[IDS:%[0-9]+]] = {{.*}} : i32[4]
# CHECK:       gather %x, [[IDS]] {batch = 1} : f32[4,16]
# PLAN-LABEL:  entry infer
# PLAN:        arena (optimal)                  1,088
# LONG-LABEL:  entry infer
# LONG:        arena (optimal)                  1,088

# Another place than a row by the counter, two axes at once, and a part of x, which is cut out once, before the loop.
entry mixed(x : f32[4, T, 6, 5], h : f32[4, T, 3], j : i32) {
  scan i in 0..T { h = h * reshape(h[:, i] + x[:, i, j, :3], [4, 1, 3]) }
  return h
}
# CHECK-LABEL: entry mixed
# CHECK-NOT:   transpose
# CHECK:       [[PART:%[0-9]+]] = slice %x
# CHECK:       scan %h
# CHECK-DAG:   gather %h.2, {{.*}} {batch = 1} : f32[4,3]
# CHECK-DAG:   [[ROW:%[0-9]+]] = gather [[PART]], {{.*}} {batch = 1} : f32[4,6,3]
# CHECK:       gather [[ROW]], {{.*}} {batch = 1} : f32[4,3]
# CHECK-LABEL: entry train

# The gradients of rows are stacked as the rows are, so that training turns x once.
entry train(x : f32[4, T, 16]) {
  loss = mean(net(x) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK:       transpose %x {perm = [1, 0, 2]}
# CHECK:       scan
# CHECK-NOT:   batch = 1
