# RUN: %gc --emit=ir -march=x86-64-v3 %s -o - | FileCheck-14 %s
# RUN: %gc --print-schedules -march=x86-64-v3 %s -o %t.exe | FileCheck-14 --check-prefix=PIXELS %s
# RUN: %gc --emit=c -march=x86-64-v3 %s -o - | FileCheck-14 --check-prefix=WORK %s
# RUN: %gc --emit=ir -march=x86-64-v3 -D S=129 %s -o - | FileCheck-14 --check-prefix=LARGE %s
# The mean of an image over all pixels reads it as the convolution leaves it, channels side by side. The gate that multiplies it
# then does so, too.
# CHECK: %y = kernel {{.*}} : f32[2,24,14,14] order [0,2,3,1]
# CHECK-NOT: = copy %y
# CHECK: return
# Its 64 lanes of 24 channels are too much for the stack of whoever calls a library.
# WORK: lane = (float *)(env->work
# One of more pixels than the sum of a row has in a chunk is copied to rows first, which are read in order.
# LARGE: %y.[[#]] = copy %y : f32[2,24,129,129]
# PIXELS: columns rows=196 columns=24 outer=2
let S = 14
entry e(x : f32[2, 8, S, S], w : f32[24, 8, 3, 3], gate : f32[24, 24]) {
  y = relu(conv2d(x, w, pad = 1))
  s = sigmoid(mean(y, [2, 3]) @ gate)
  return conv2d(y * reshape(s, [2, 24, 1, 1]), reshape(gate, [24, 24, 1, 1]))
}
