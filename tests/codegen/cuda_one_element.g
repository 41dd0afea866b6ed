# RUN: %gc -O2 --emit=cuda --arch=sm_90 %s | FileCheck-14 %s
# A result of one element may lie over the operand that each element reads: the threads without an
# element leave before that is loaded, or they would read what the first one writes.
entry step(x : f32[1, 1, 5, 11], w : f32[1, 1, 1, 1]) {
  k = tanh(w)
  return dw = grad(sum(conv2d(x, k) ** 2), w)
}

# CHECK:      conv_filter_grad {{.*}}tanh_grad
# CHECK:      if (u >= 1) return;
# CHECK-NEXT: const float [[K:v[0-9]+]] = in{{[0-9]}}[0];
# CHECK:      (1 - [[K]] * [[K]])
