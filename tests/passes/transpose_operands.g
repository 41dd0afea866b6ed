# wgmma reads tf32 along the depth alone. Both operands of a weight's gradient, x' dy, lie across it: the smaller one is
# copied transposed, which is rounded there if nothing else reads it rounded, once for all products. Not where the copy
# takes longer than it saves, under a byte limit, for architectures without wgmma, or on the CPU.
# RUN: %gc %s --target=cuda --precision=tf32 --print-after=transpose-operands --emit=plan -o %t.json 2>&1 | FileCheck-14 %s
# RUN: %gc %s --target=cuda --precision=tf32 --memory-limit=4G --print-after=transpose-operands --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefix=NONE %s
# RUN: %gc %s --target=cuda --arch=sm_80 --precision=tf32 --print-after=transpose-operands --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefix=NONE %s
# RUN: %gc %s --target=cpu --precision=tf32 --print-after=transpose-operands --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefix=NONE %s
entry large(x : f32[4096, 1024], dy : f32[4096, 3072], dz : f32[4096, 2048], w : f32[3072, 1024]) {
  return dw = transpose(x) @ dy, dv = transpose(x) @ dz, dx = dy @ w
}
entry bounded(x : f32[n <= 4096, 3000], dy : f32[n, 1024], w : f32[1024, 80]) {
  return dw = transpose(x) @ dy, dx = dy @ w
}
entry odd(x : f32[4096, 4002], dy : f32[4096, 1024]) { return dw = transpose(x) @ dy } # rows are padded
entry reshaped(x : f32[4, 1024, 4002], dy : f32[4, 1024, 1024], w : f32[4002, 64]) { # and those of what is reshaped
  rows, columns = reshape(relu(x), [4096, 4002]), reshape(dy, [4096, 1024])
  return dw = transpose(rows) @ columns, y = rows @ w
}
entry narrow(x : f32[4096, 512], dy : f32[4096, 512]) { return dw = transpose(x) @ dy }
entry shallow(x : f32[24, 4096], dy : f32[24, 4096]) { return dw = transpose(x) @ dy }
# CHECK: entry large
# CHECK-NOT: tf32 %x
# CHECK: %[[Y:[a-z0-9.]+]] = tf32 %dy
# CHECK: %[[T:[a-z0-9.]+]] = transpose %x {perm = [1, 0]} : f32[1024,4096]
# CHECK: %[[C:[a-z0-9.]+]] = tf32 %[[T]]
# CHECK: matmul %[[C]], %[[Y]] {tf32 = 1} : f32[1024,3072]
# CHECK-NOT: transpose
# CHECK: matmul %[[C]], %{{[a-z0-9.]+}} {tf32 = 1} : f32[1024,2048]
# CHECK: entry bounded
# CHECK: %[[Y:[a-z0-9.]+]] = tf32 %dy
# CHECK: %[[Z:[a-z0-9.]+]] = transpose %[[Y]] {perm = [1, 0]}
# CHECK-NEXT: %[[D:[a-z0-9.]+]] = tf32 %[[Z]]
# CHECK: matmul %{{[a-z0-9.]+}}, %[[D]] {ta = 1, tb = 1, tf32 = 1} : f32[3000,1024]
# CHECK: entry odd
# CHECK: matmul %{{[a-z0-9.]+}}, %{{[0-9]+}} {ta = 1, tb = 1, tf32 = 1} : f32[4002,1024]
# CHECK: entry reshaped
# CHECK: matmul %{{[a-z0-9.]+}}, %{{[a-z0-9.]+}} {ta = 1, tb = 1, tf32 = 1} : f32[4002,1024]
# CHECK: entry narrow
# CHECK-NOT: transpose
# CHECK: entry shallow
# CHECK-NOT: transpose
# NONE: entry large
# NONE-NOT: transpose
