# RUN: %gc %s -march=x86-64-v4 --passes="fold,cse,dce,autodiff,fold,cse,dce,concat-split{all=1},fuse,layout,order,liveness,inplace,share" --print-schedules | FileCheck-14 %s
# The gradient of the narrow part alone would be direct, and that of all channels is by Winograd's method: it is not made in
# parts, so that results stay.
entry run(x : f32[4, 3, 32, 32]) {
  param wide : f32[64, 3, 3, 3] = normal(std = 0.2)
  param narrow : f32[16, 3, 3, 3] = normal(std = 0.2)
  param both : f32[24, 80, 3, 3] = normal(std = 0.1)
  a = relu(conv2d(x, wide, pad = 1))
  b = relu(conv2d(x, narrow, pad = 1))
  h = relu(conv2d(concat([a, b], 1), both, pad = 1))
  loss = mean(h * h)
  ga, gb = grad(loss, [wide, narrow])
  return loss, ga, gb
}
# CHECK: conv_input_grad winograd n=4 rows=32 columns=32 depth=24 width=80 back=yes
# CHECK-NOT: conv_input_grad
