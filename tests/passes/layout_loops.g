# RUN: %gc %s -O2 -march=x86-64-v3 --emit=ir | FileCheck-14 %s
# RUN: %gc %s -O2 -march=x86-64-v3 --memory-limit=1G --emit=ir | FileCheck-14 --check-prefix=LIMIT %s
# RUN: %gc %s -O0 -march=x86-64-v3 --emit=ir | FileCheck-14 --check-prefix=PLAIN %s
# A weight that a loop reads transposed is copied into the panels of the products once, before the
# outermost loop that it comes from outside of; not for so many rows that packing is little, nor for
# two iterations, nor what the loop itself makes, nor what is large beside the loop's slices, nor where bytes are
# limited.
# CHECK-LABEL: entry rnn
# CHECK: [[W:%w.[0-9]+]] = copy %w : f32[32,48] order [1,0] panels 16
# CHECK-NOT: copy
# CHECK: scan
# CHECK: scan
# CHECK-NOT: copy
# CHECK: matmul {{%.*}}, {{%.*}} {tb = 1}
# LIMIT-NOT: order [1,0]
# PLAIN: matmul {{%.*}}, %w.{{[0-9]+}} {tb = 1}
entry rnn(h : f32[8, 48], w : f32[32, 48], v : f32[32, 48]) {
  scan i in 0..4 {
    scan j in 0..5 {
      h = relu((h @ w') @ v) + tanh(h @ w' + 1) @ v
    }
  }
  return h
}

# CHECK-LABEL: entry others
# CHECK-NOT: order [1,0]
entry others(h : f32[8, 32], many : f32[256, 32], w : f32[32, 32]) {
  scan i in 0..2 { h = h @ w' }
  scan i in 0..6 { many = many @ w' }
  scan i in 0..6 { w = w @ (w + 1)' }
  return h, many, w
}

# CHECK-LABEL: entry large
# CHECK-NOT: order [1,0]
entry large(h : f32[8, 512], x : f32[6, 8, 512], w : f32[512, 512]) {
  scan i in 0..6 { h = h @ w' + x[i] }
  return h
}

# CHECK-LABEL: entry beside_much
# CHECK: copy %w : f32[512,512] order [1,0] panels 16
entry beside_much(h : f32[64, 512], x : f32[160, 64, 512], w : f32[512, 512]) {
  scan i in 0..160 { h = h @ w' + x[i] }
  return h
}
