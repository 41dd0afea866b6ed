# --precision: products read bf16 or tf32, sums are f32; what the backward pass reads is kept in bf16.
# RUN: %gc %s --passes="fold,cse,dce,autodiff{saved=bf16},precision{products=bf16},fold,cse,dce" --emit=ir | FileCheck-14 --check-prefix=BF16 %s
# RUN: %gc %s --passes="fold,cse,dce,autodiff{saved=tf32},precision{products=tf32},fold,cse,dce" --emit=ir | FileCheck-14 --check-prefix=TF32 %s
# RUN: %gc %s --precision=bf16 --emit=plan | FileCheck-14 --check-prefix=PLAN %s
# RUN: %gc %s --precision=f32 --emit=ir > %t.1 && %gc %s --emit=ir > %t.2 && cmp %t.1 %t.2
# RUN: not-14 %gc %s --passes="autodiff{saved=f8}" --emit=ir 2>&1 | FileCheck-14 --check-prefix=WORD %s

# WORD: error: saved= takes f32, tf32 or bf16, not 'f8'

entry train(x : f32[8, 16], t : f32[8, 4]) {
  h = gelu(linear(x, 32) as a)
  y = linear(h, 4) as b
  loss = mean((y - t) ** 2)
  minimize loss with sgd(0.1)
  return loss
}

entry loop(x : f32[8, 16]) {
  h = x
  scan i in 0..3 { h = tanh(linear(h, 16) as cell) }
  return h
}

entry attend(x : f32[4, 32, 16], t : f32[4, 32, 16]) {
  param w : f32[16, 16] = normal(std = 0.1)
  y = attention(x @ w, x, x, causal = true)
  minimize mean((y - t) ** 2) with sgd(0.1)
  return y
}

entry images(x : f32[2, 3, 8, 8], t : f32[2, 4, 8, 8]) {
  y = conv(relu(conv(x, 4, 3) as d), 4, 3) as e
  minimize mse(y, t) with sgd(0.1)
  return y
}

entry halves(x : f32[8, 16], t : f32[8, 4]) {
  a, b = split(linear(x, 32) as p, 2, axis = -1)
  y = (linear(a, 4) as q) + (linear(tanh(b), 4) as r)
  minimize mse(y, t) with sgd(0.1)
  return a
}

# A weight is narrowed once; the layers are narrowed where they are made, and of gelu only its input is
# saved, narrowed, from which its gradient computes the rest again.
# BF16-LABEL: entry train
# BF16: %[[X:[a-z0-9.]+]] = convert %x : bf16[8,16]
# BF16: %[[W:[a-z0-9.]+]] = load @a.w : f32[16,32]
# BF16: %[[V:[a-z0-9.]+]] = convert %[[W]] : bf16[16,32]
# BF16: %[[P:[a-z0-9.]+]] = matmul %[[X]], %[[V]] {wide = 1} : f32[8,32]
# BF16: %[[E:[a-z0-9.]+]] = add {{.*}} : f32[8,32] "a"
# BF16: %[[L:[a-z0-9.]+]] = convert %[[E]] : bf16[8,32] "a"
# BF16: mul %[[E]], {{.*}} : f32[8,32] "gelu"
# BF16-NOT: convert {{.*}} : bf16[8,32] "gelu"
# BF16: %[[H:[a-z0-9.]+]] = convert %h : bf16[8,32]
# BF16: matmul %[[H]], %[[U:[a-z0-9.]+]] {wide = 1} : f32[8,4]
# BF16: %[[D:[a-z0-9.]+]] = convert %d.y : bf16[8,4]
# BF16: sum {{.*}} {axes = [0]} : f32[4] backward "b"
# BF16: matmul %[[D]], %[[U]] {tb = 1, wide = 1} : f32[8,32]
# BF16: convert %[[L]] : f32[8,32] backward "gelu"
# BF16: erf {{.*}} backward "gelu"
# BF16: matmul %[[X]], {{.*}} {ta = 1, wide = 1} : f32[16,32]
# BF16: store @a.w

# A loop reads the weight that was narrowed before it, and narrows what it carries.
# BF16-LABEL: entry loop
# BF16: %[[W:[a-z0-9.]+]] = convert %cell.w : bf16[16,16]
# BF16: scan
# BF16-NOT: convert %cell.w
# BF16: %[[H:[a-z0-9.]+]] = convert %h{{.*}} : bf16[8,16]
# BF16: matmul %[[H]], %[[W]] {wide = 1} : f32[8,16]

# Attention and its gradient read and give bf16; sums of exps and of dy y stay f32.
# BF16-LABEL: entry attend
# BF16: %[[Q:[0-9]+]] = reshape {{.*}} : bf16[4,32,16]
# BF16: %[[Y:[0-9]+]], %[[S:[0-9]+]] = attention %[[Q]], %x.1, %x.1 {{.*}} : bf16[4,32,16], f32[4,32]
# BF16: %[[D:[a-z0-9.]+]] = convert %{{.*}} : bf16[4,32,16] backward
# BF16: attention_grad %[[D]], %[[Q]], %x.1, %x.1, %[[S]], %{{[0-9]+}} {{.*}} : bf16[4,32,16], bf16[4,32,16], bf16[4,32,16] backward

# A convolution rounds its weight itself; images are narrowed once for it and for its gradients.
# BF16-LABEL: entry images
# BF16: %[[X:[a-z0-9.]+]] = convert %x : bf16[2,3,8,8]
# BF16: conv %[[X]], %d.w {{.*}} wide_result = 1, round_filters = 1} : f32[2,4,8,8]
# BF16: %[[R:[a-z0-9.]+]] = convert %{{[0-9]+}} : bf16[2,4,8,8]
# BF16: conv %[[R]], %e.w {{.*}} wide_result = 1, round_filters = 1} : f32[2,4,8,8]
# BF16: %[[D:[a-z0-9.]+]] = convert %{{.*}} : bf16[2,4,8,8] backward
# BF16: conv_input_grad %[[D]], %e.w {{.*}} wide_result = 1, round_filters = 1} : f32[2,4,8,8] backward
# BF16: conv_filter_grad %[[D]], %[[R]] {{.*}} wide_result = 1} : f32[4,4,3,3] backward
# BF16: conv_filter_grad %{{[a-z0-9.]+}}, %[[X]] {{.*}} wide_result = 1} : f32[4,3,3,3] backward

# A concatenation that products read narrowed joins narrowed parts.
# BF16-LABEL: entry halves
# BF16: concat {{.*}} : bf16[8,32] backward
# BF16-NOT: concat

# TF32-LABEL: entry train
# TF32: %[[X:[a-z0-9.]+]] = tf32 %x : f32[8,16]
# TF32: matmul %[[X]], {{.*}} {tf32 = 1} : f32[8,32]
# TF32-NOT: bf16[
# TF32: attention {{.*}} : f32[4,32,16], f32[4,32]

# TF32-LABEL: entry images
# TF32: conv %{{[a-z0-9.]+}}, %d.w {{.*}} tf32_operands = 1, round_filters = 1} : f32[2,4,8,8]

# PLAN: "type": "bf16[8,32]", "bytes": 512

# A max pool reads its image narrowed, unless others read that or the result in f32.
entry pooled(x : f32[2, 3, 8, 8]) {
  y = max_pool(relu(conv(x, 4, 3) as f), 2)
  return conv(y, 5, 2) as g
}
entry pooled_beside(x : f32[2, 3, 8, 8]) {
  y = relu(conv(x, 4, 3) as k)
  z = max_pool(conv(x, 6, 3) as n, 2)
  return y, z, v = conv(max_pool(y, 2), 5, 2) as l, w = conv(z, 7, 2) as m
}
# BF16-LABEL: entry pooled
# BF16: %[[R:[a-z0-9.]+]] = convert {{.*}} : bf16[2,4,8,8]
# BF16: %[[P:[a-z0-9.]+]] = max_pool %[[R]] {{.*}} : bf16[2,4,4,4]
# BF16: conv %[[P]], {{.*}} : f32[2,5,4,4]
# BF16-LABEL: entry pooled_beside
# BF16-NOT: max_pool {{.*}} : bf16
