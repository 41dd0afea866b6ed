# RUN: %gc --emit=c -march=x86-64-v3 %s -o %t.c && test "$(grep -c 'vfma_f32(v\[j\], s' %t.c)" -le 16
# RUN: %gc --emit=c -march=x86-64-v3 -D K=31 -D P=15 %s -o %t.c && test "$(grep -c 'vfma_f32(v\[j\], s' %t.c)" -le 66
# RUN: %gc --print-schedules -march=x86-64-v3 %s -o %t.exe | FileCheck-14 %s
# A convolution of each channel by itself, and its gradient by the images, has the tiles of other convolutions: some pixels
# by a panel of two vectors of channels. A tap that all pixels of a tile have is a step of one loop, whatever the window.
# CHECK-DAG: conv n=2 rows=56 columns=56 depth=1 width=32 back=no {{.*}}nr=16 np=2 together=2 tile_rows=6
# CHECK-DAG: conv n=2 rows=56 columns=56 depth=1 width=32 back=yes {{.*}}nr=16 np=2 together=2 tile_rows=6
let K = 5
let P = 2
entry e(x : f32[2, 32, 56, 56], w : f32[32, 1, K, K]) {
  y = conv2d(x, w, pad = P, groups = 32)
  return y, dx = grad(sum(y * y), x)
}
