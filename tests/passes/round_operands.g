# Products in tf32 round params and inputs as they read them, so there are no rounded copies. What only products and
# sums read is rounded where it is computed; so is what others read rounded, and whose rows begin where no wide copy
# can. The CPU's products take rounded copies.
# RUN: %gc %s --target=cuda --precision=tf32 --print-after=round-operands --emit=plan -o %t.json 2>&1 | FileCheck-14 %s
# RUN: %gc %s --target=cuda --arch=sm_80 --precision=tf32 --print-after=round-operands --emit=plan -o %t.json 2>&1 | FileCheck-14 %s
# RUN: %gc %s --target=cpu --precision=tf32 --print-after=round-operands --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefix=CPU %s
# RUN: %gc %s --target=cuda --arch=sm_75 --precision=tf32 --print-after=round-operands --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefix=CPU %s
entry plain(x : f32[64, 128], w : f32[128, 256]) { return y = x @ w }
# CHECK: entry plain
# CHECK-NOT: = tf32 %
# CHECK: matmul %x, %w {tf32 = 1, round_a = 1, round_b = 1} : f32[64,256]
# CPU: entry plain
# CPU: = tf32 %x
# CPU: = tf32 %w
# CPU: {tf32 = 1} : f32[64,256]
entry computed(x : f32[64, 128], w : f32[128, 256], v : f32[256, 64]) {
  h = relu(x @ w)
  return y = h @ v
}
# CHECK: entry computed
# CHECK: %[[H:[a-z0-9.]+]] = tf32 %
# CHECK-NEXT: matmul %[[H]], %v {tf32 = 1, round_b = 1} : f32[64,64]
entry shown(x : f32[4, 16, 128], w : f32[128, 256]) { return y = reshape(x, [64, 128]) @ w, z = x[1] @ w }
# CHECK: entry shown
# CHECK-NOT: = tf32 %
# CHECK: round_a = 1, round_b = 1} : f32[64,256]
# CHECK: round_a = 1, round_b = 1} : f32[16,256]
entry odd(x : f32[64, 127], w : f32[127, 256]) { return y = x @ w } # rows of x would begin anywhere
# CHECK: entry odd
# CHECK: %[[X:[a-z0-9.]+]] = tf32 %x
# CHECK-NEXT: matmul %[[X]], %w {tf32 = 1, round_b = 1} : f32[64,256]
entry both(x : f32[64, 128], w : f32[128, 256], v : f32[127, 64]) { # a part of x has such rows
  return y = x @ w, z = x[:, 0:127] @ v
}
# CHECK: entry both
# CHECK: %[[X:[a-z0-9.]+]] = tf32 %x
# CHECK-NOT: = tf32 %
# CHECK: matmul %{{[a-z0-9.]+}}, %w {tf32 = 1, round_b = 1} : f32[64,256]
entry trained(x : f32[64, 128], t : f32[64, 256]) { # forward and backward; what the step stores is read unrounded
  param w : f32[128, 256] = 0
  y = x @ w
  loss = mean(y * t)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: entry trained
# CHECK-NOT: = tf32 %x
# CHECK-NOT: = tf32 %w
# CHECK: matmul %x, %w {tf32 = 1, round_a = 1, round_b = 1} : f32[64,256]
# CHECK: %[[D:[a-z0-9.]+]] = tf32 %{{.*}} backward
# CHECK: matmul %x, %[[D]] {ta = 1, tf32 = 1, round_a = 1} : f32[128,256] backward
entry repeated(x : f32[4, 64, 128], w : f32[128, 128]) { # a loop reads what lies outside of it
  ys = scan i in 0..4 { yield x[i] @ w }
  return ys
}
# CHECK: entry repeated
# CHECK-NOT: = tf32 %w
# CHECK: round_b = 1} : f32[64,128]
