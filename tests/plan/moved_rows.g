# RUN: %gc -march=x86-64-v3 -O2 %s --emit=ir -o - | FileCheck-14 %s
# RUN: %gc --target=cuda -O2 %s --emit=ir -o - | FileCheck-14 %s --check-prefix=CUDA
# RUN: %gc %s --emit=ir --passes=autodiff,fold,dce | FileCheck-14 %s --check-prefix=FOLD
# A product has its rows side by side; behind an outer axis, rows of a bounded axis lie apart by the bound. The CPU moves
# them in their own bytes, one after the other. A GPU, whose threads move them at once, has other bytes for them. The bias
# and what else is done to each row joins the product, in front of the move.
entry rows(x : f32[6, n <= 40, 8], y : f32[6, n, 16]) {
  return z = relu(linear(x, 16) as one) * y, s = f64(linear(x, 16) as two)
}
# FOLD:      [[M:%[0-9]+]] = matmul
# FOLD:      [[A:%[0-9]+]] = add [[M]], {{%[0-9]+}} : f32[6*(n<=40),16]
# FOLD-NEXT: [[R:%[0-9]+]] = relu [[A]] : f32[6*(n<=40),16]
# FOLD-NEXT: reshape [[R]] : f32[6,n<=40,16]
# A move of twice the bytes would cost more than it spares.
# FOLD:      [[Y:%[a-z0-9.]+]] = reshape {{%[0-9]+}} : f32[6,n<=40,16]
# FOLD-NEXT: convert [[Y]] : f64[6,n<=40,16]
# CHECK: reshape {{%[0-9]+}} : f32[6,n<=40,16] {{.*}} in place of
# CHECK: reshape {{%[0-9]+}} : f32[6,n<=40,16] {{.*}} in place of
# CUDA:     reshape {{%[0-9]+}} : f32[6,n<=40,16]
# CUDA-NOT: reshape {{%[0-9]+}} : f32[6,n<=40,16] {{.*}} in place of
# What else reads the rows goes in front of the move, even if the peak is elsewhere: they would be copied.
entry again(x : f32[6, n <= 40, 64], large : f32[400, 400]) {
  h = cumsum(x, 1)
  z = linear(h, 64) as three
  return z, s = sum(h, [0, 1]), r = sum(cumsum(large, 0), 0)
}
# CHECK-LABEL: entry again
# CHECK: sum %h
# CHECK: reshape %h : f32[6*(n<=40),64] {{.*}} in place of %h
