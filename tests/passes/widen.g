# On the CPU convolutions want f32: each has its own rounded copies, which no other op holds; the two gradients share
# the copy of dy. Where the processor multiplies pairs of bf16, convolutions and their gradients by the images read them
# as they are, with rounded filters.
# RUN: %gc %s -march=x86-64-v3 --precision=bf16 --print-after=widen --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefixes=BOTH,BF16 %s
# RUN: %gc %s -march=x86-64-v3 --precision=tf32 --print-after=widen --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefixes=BOTH,TF32 %s
# RUN: %gc %s -march=cooperlake --precision=bf16 --print-after=widen --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefix=PAIRS %s
entry images(x : f32[2, 8, 32, 32], t : f32[2, 8, 32, 32]) {
  y = conv(relu(conv(relu(conv(x, 8, 3) as c), 8, 3) as d), 8, 3) as e
  minimize mse(y, t) with sgd(0.1)
  return y
}
# BOTH: entry images
# BOTH-NOT: wide_result
# BF16: %[[W:[a-z0-9.]+]] = convert %d.w : bf16[8,8,3,3]
# BF16: %[[F:[a-z0-9.]+]] = convert %[[W]] : f32[8,8,3,3]
# TF32: %[[F:[a-z0-9.]+]] = tf32 %d.w : f32[8,8,3,3]
# BOTH: conv %{{[a-z0-9.]+}}, %[[F]] {
# BF16: %[[V:[a-z0-9.]+]] = convert %d.w : bf16[8,8,3,3]
# BF16: %[[G:[a-z0-9.]+]] = convert %[[V]] : f32[8,8,3,3]
# TF32: %[[G:[a-z0-9.]+]] = tf32 %d.w : f32[8,8,3,3]
# BF16: conv_input_grad %[[D:[a-z0-9.]+]], %[[G]] {{.*}}tf32_operands = 1
# BF16: conv_filter_grad %[[D]], %{{[a-z0-9.]+}} {
# TF32: conv_input_grad %[[E:[a-z0-9.]+]], %[[G]] {
# TF32: conv_filter_grad %[[E]], %{{[a-z0-9.]+}} {
# PAIRS: entry images
# PAIRS: %[[W:[a-z0-9.]+]] = convert %d.w : bf16[8,8,3,3]
# PAIRS-NEXT: conv %{{[a-z0-9.]+}}, %[[W]] {{.*}}wide_result = 1
# PAIRS: %[[V:[a-z0-9.]+]] = convert %d.w : bf16[8,8,3,3]
# PAIRS-NEXT: conv_input_grad %{{[a-z0-9.]+}}, %[[V]] {{.*}}wide_result = 1
# PAIRS: %[[D:[a-z0-9.]+]] = convert {{.*}} : f32[2,8,32,32]
# PAIRS: conv_filter_grad %[[D]], %{{[a-z0-9.]+}} {
