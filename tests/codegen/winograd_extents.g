# RUN: %gc %s -O2 --target=cpu -march=x86-64-v3 --emit=ir -o %t.ir && FileCheck-14 %s < %t.ir
# RUN: %gc -x ir %t.ir --target=cpu -march=x86-64-v3 --passes=dce --emit=ir -o - | FileCheck-14 %s
# RUN: %gc %s -O2 --target=cpu -march=x86-64-v3 --emit=c -o - | FileCheck-14 --check-prefix=TEXT %s
# RUN: sed 's/padded .1,/padded [0,/' %t.ir > %t.wrong
# RUN: not-14 %gc -x ir %t.wrong --target=cpu --passes=dce --emit=ir 2>&1 | FileCheck-14 --check-prefix=WRONG %s
# A run chooses between Winograd's method and the direct sum by its images' size, as the program that is compiled for it does: the
# copy of the filters and the convolution. Few channels never take less time so.
entry f(x : f32[2, 40, h <= 20, 24]) {
  y = conv(x, 40, 3) as a
  return y, w = conv(x, 5, 3) as c
}
# Nor do images with fewer columns than a filter, whatever time they take: bounded, they are filled up.
entry narrow(x : f32[1, 128, 400, 2]) {
  return y = conv(x, 128, 3) as d
}
# CHECK: [[U:%[0-9]+]] = copy %a.w : f32[40,40,3,3] order [2,3,1,0] winograd {{[0-9]+}} of f32[h<=20,24] padded [1,1,1,1]
# CHECK: kernel %{{.*}}, [[U]], %a.b {name = "conv+add"}
# CHECK-NOT: = copy {{.*}} winograd {{[0-9]}}

# TEXT: if (winograd_wins(&cost, extent0, 24)) {
# TEXT: winograd_filter(
# TEXT: } else {
# TEXT: if (winograd_wins(&cost, extent0, 24)) {
# TEXT: winograd_source(
# TEXT: } else {
# TEXT-NOT: winograd_wins

# WRONG: reads filters %{{[a-z0-9.]+}}, transformed for images of other sizes
