# RUN: %gc %s --target=cpu -march=x86-64-v4 --print-schedules | FileCheck-14 %s
# RUN: %gc %s --target=cpu -march=x86-64-v3 -O0 --print-schedules | FileCheck-14 --check-prefix=CHOICE %s
# RUN: %gc %s --target=cpu -march=x86-64-v4 -DN=1 --print-schedules | FileCheck-14 --check-prefix=CHOICE %s
# RUN: %gc %s --target=cpu --exact --print-schedules | FileCheck-14 --check-prefix=EXACT %s
# RUN: %gc %s -O2 --target=cpu -march=x86-64-v4 --emit=ir -o %t.ir && FileCheck-14 --check-prefix=IR %s < %t.ir
# RUN: %gc -x ir %t.ir --target=cpu -march=x86-64-v4 --passes=dce --emit=ir -o - | FileCheck-14 --check-prefix=IR %s
# RUN: %gc %s --target=cpu -march=x86-64-v4 --precision=bf16 --print-schedules | FileCheck-14 --check-prefix=EXACT %s
# RUN: %gc %s -O2 --target=cpu -march=x86-64-v3 --emit=ir -o %t.v3
# RUN: %gc -x ir %t.v3 --target=cpu -march=x86-64-v4 --passes=dce,order,liveness,inplace,share --print-schedules | FileCheck-14 --check-prefix=PANELS %s
# RUN: sed 's/pad = .1, 1, 1, 1., dilation = .1, 1./pad = [2, 2, 2, 2], dilation = [2, 2]/' %t.ir > %t.wrong
# RUN: not-14 %gc -x ir %t.wrong --target=cpu --passes=dce --emit=ir 2>&1 | FileCheck-14 --check-prefix=DILATED %s
# Winograd's method computes convolutions and gradients by the images where it takes less time, whatever the machine, the
# level and the batch: not those of few channels, of small images or with a stride. Filters are transformed by a copy.
let N = 8
entry step(x : f32[N, 3, 32, 32]) {
  param w : f32[64, 3, 3, 3] = normal()
  h = conv2d(x, w, pad = 1)
  h = relu(conv(h, 64, 3) as second)
  s = conv(h, 64, 3, stride = 2) as third
  t = conv(avg_pool(s, 4), 64, 3) as fourth
  loss = mean(t * t)
  return loss, g = grad(loss, w)
}

# CHECK:      {{^}}cpu k1_conv conv conv n=8 rows=32 columns=32 depth=3 width=64
# CHECK:      _conv_add_relu conv winograd n=8 rows=32 columns=32 depth=64 width=64 back=no nr=64 np=1 down=16 across=16 tile_rows=7 block=35 blocks=59 units=59 {{.*}} entries=step
# CHECK:      _conv_add conv conv n=8 rows=16 columns=16 depth=64
# CHECK:      _conv_add_mul_1 conv conv n=8 rows=4 columns=4 depth=64
# CHECK:      conv_input_grad winograd n=8 rows=32 columns=32 depth=64 width=64 back=yes
# CHECK-NOT:  winograd

# CHOICE:     conv conv {{.*}} rows=32 columns=32 depth=3
# CHOICE:     conv winograd {{.*}} rows=32 columns=32 depth=64
# CHOICE:     conv conv {{.*}} rows=16
# CHOICE:     conv conv {{.*}} rows=4
# CHOICE:     conv_input_grad winograd {{.*}} rows=32
# CHOICE-NOT: winograd

# EXACT-NOT:  winograd

# IR:         [[U:%[0-9]+]] = copy %second.w : f32[64,64,3,3] order [2,3,1,0] winograd 64
# IR:         = kernel %h, [[U]], %second.b {name = "conv+add+relu"}
# IR:         [[B:%[0-9]+]] = copy %second.w : f32[64,64,3,3] order [2,3,0,1] winograd 64
# IR:         conv_input_grad %{{.*}}, [[B]] {

# Filters in panels of other vectors than the target's are read as they lie.
# PANELS:     conv winograd n=8 rows=32 columns=32 depth=64 width=64 back=no nr=16 np=4

# DILATED:    conv at {{.*}}: reads transformed filters %{{[a-z0-9.]+}}, which are for f32, one group and stride 1
