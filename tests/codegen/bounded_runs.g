# Along bounded heights and widths a sum over all pixels finds the place of each run of a row once, not that of each
# element, and the tiles at the sides of a convolution's rows have six positions where a run has as many.
# RUN: %gc -O2 --target=cpu -march=x86-64-v3 %s --emit=c -o - | FileCheck-14 %s
# CHECK: if (less <= 20) {
# CHECK-NEXT: window_6x16_{{.*}}(a, {{[^)]*}}out,
# CHECK: const long inside = 20 - less
# CHECK: } else {
# CHECK-NEXT: window_1x16_
# CHECK: const long run = {{.*}}(c0 + l0)
# CHECK: for (long l = l0; l < l1; l++) {
# CHECK-NOT: / (double)
# CHECK: r0_s[l] = r0_s[l] +
entry f(x : f32[2, 3, h <= 32, w <= 32]) {
  param k : f32[16, 3, 3, 3] = normal()
  return s = sum(conv2d(x, k, pad = 1))
}
