# RUN: %gc -march=x86-64-v3 -O0 --dump-plan=json %s > %t.0
# RUN: %gc -march=x86-64-v3 -O2 --remarks=fuse --dump-plan=json %s > %t.2 2> %t.why
# RUN: FileCheck-14 %s < %t.why
# RUN: tr ',' '\n' < %t.0 | sed -n 's/.*"arena_bytes": *//p' > %t.written; tr ',' '\n' < %t.2 | sed -n 's/.*"arena_bytes": *//p' > %t.optimized
# RUN: paste -d ' ' %t.optimized %t.written | awk '{ n++; if ($1 > $2) { print "entry " n ": " $0; bad = 1 } } END { exit bad || n != 5 }'
# RUN: %gc -march=x86-64-v3 -O2 --dump-plan=json %s | cmp - %t.2
# Nets that are used twice with the same weights, and gradients of gradients: a sum of products over their weights' gradients, computed
# with the last of its terms, would hold what the others are made of. Optimized they need no more memory
# than as they are written; remarks change nothing.
# CHECK: guard.g:25:7: remark: 'penalty' takes {{[0-9,]+}} bytes instead of {{[0-9,]+}}: recomputation within the bytes of the program as it is written, fusion within live bytes [fuse-limited]
# CHECK: guard.g:36:7: remark: 'slope' takes {{[0-9,]+}} bytes instead of {{[0-9,]+}}: {{.*}} [fuse-limited]
# CHECK-NOT: 'curvature' takes
# CHECK: guard.g:53:7: remark: 'twins' takes {{[0-9,]+}} bytes instead of {{[0-9,]+}}: {{.*}} [fuse-limited]
# CHECK: guard.g:61:7: remark: 'pooled' takes {{[0-9,]+}} bytes instead of {{[0-9,]+}}: {{.*}} [fuse-limited]
# CHECK: one matmul kernel
def critic(x) {
  for i in 0..3 { x = tanh(linear(x, 256) as h[i]) }
  return (linear(x, 1) as o)[:, 0]
}
def embed(x) {
  for i in 0..6 { x = x + relu(linear(x, 256) as h[i]) }
  return linear(x, 64) as o
}
# the gradient at points between two batches is part of the loss
entry penalty(x : f32[64, 100], y : f32[64, 100]) {
  m = 0.5 * x + 0.5 * y
  a = critic(x) as net
  b = critic(y) as net shared
  c = critic(m) as net shared
  g = grad(sum(c), m)
  loss = mean(b) - mean(a) + 10 * mean((sqrt(sum(g * g, axis = 1) + 1e-8) - 1) ** 2)
  minimize loss with adam(1e-3)
  return loss
}
# a gradient of a gradient is part of the loss
entry slope(x : f32[256, 100], t : f32[256]) {
  y = critic(x) as net
  dx = grad(sum(y), x)
  ddx = grad(sum(dx * dx), x)
  loss = mse(y, t) + 0.1 * mean(ddx * ddx)
  minimize loss with sgd(0.01)
  return loss
}
entry curvature(x : f32[64, 100], label : u8[64]) {
  param w : f32[100, 256] = glorot()
  h = tanh(x @ w)
  for i in 0..3 { h = gelu(linear(h, 256) as mix[i]) }
  loss = mean(xent(linear(h, 10) as out, label))
  g = grad(loss, w)
  return loss, hg = grad(sum(g * g), w)
}
# two inputs, one net
entry twins(x : f32[128, 256], y : f32[128, 256], t : f32[128]) {
  u = embed(x) as twin
  v = embed(y) as twin shared
  loss = mse(sum(u * v, axis = 1), t)
  minimize loss with adam(1e-3)
  return loss
}
# pooled channel by channel, as it is written; optimized, the input would be copied in the layout of the convolution behind it
entry pooled(x : f32[3, 6, 180]) {
  return y = tanh(conv1(max_pool(x, 3, stride = 2, pad = 1), 2, 5) as c)
}
