# RUN: %gc --emit=c -march=x86-64-v3 %s -o %t.c && test "$(grep -c '__builtin_fmaf(k, v' %t.c)" -le 80
# RUN: %gc --emit=c -march=x86-64-v3 -D K=31 -D P=15 %s -o %t.c && test "$(grep -c '__builtin_fmaf(k, v' %t.c)" -le 4
# The text of a convolution of each channel by itself grows with a window's side squared at most: here are four
# kernels' taps by column. Of a very wide one a tap is written once.
let K = 5
let P = 2
entry e(x : f32[2, 32, 56, 56], w : f32[32, 1, K, K]) {
  y = conv2d(x, w, pad = P, groups = 32)
  return y, dx = grad(sum(y * y), x)
}
