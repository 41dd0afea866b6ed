# RUN: %gc %s --target=cuda --emit=cuda -o %t.cu --print-schedules | FileCheck-14 %s
# RUN: %gc %s --target=cuda --emit=cuda -o %t.cu --print-schedules --exact | FileCheck-14 --check-prefix=EXACT %s
# RUN: %gc %s --target=cuda --emit=cuda -o %t.cu --print-schedules --precision=tf32 | FileCheck-14 --check-prefix=TF32 %s
# RUN: %gc %s --target=cuda --arch=sm_90a --emit=cuda -o %t.cu --print-schedules | FileCheck-14 --check-prefix=SUMS %s
# Convolutions of halves run on tensor cores, also in groups, and those of f32 do at a
# lower precision.
entry single(x : f32[32, 64, 28, 28], w : f32[64, 64, 3, 3]) { return y = conv2d(x, w, 1, 1) }
entry single_groups(x : f32[32, 64, 28, 28], w : f32[64, 32, 3, 3]) { return dw = grad(sum(conv2d(x, w, 1, 1, groups = 2) ** 2), w) }
entry halves(x : f16[32, 64, 28, 28], w : f16[64, 32, 3, 3]) { return y = conv2d(x, w, 1, 1, groups = 2) }
# CHECK: conv conv groups=1 {{.*}} tensor=no
# CHECK: conv_filter_grad filter groups=2 {{.*}} tensor=no
# CHECK: conv conv groups=2 {{.*}} tensor=yes
# EXACT-NOT: tensor=yes
# TF32: conv conv groups=1 {{.*}} tensor=yes
# TF32: conv_filter_grad filter groups=2 {{.*}} tensor=yes
# Of patches whose operands are copied as they lie the sums of blocks are in scratch, if they take no more than a quarter of what is read.
entry patches(x : bf16[8, 3, 512, 512], w : bf16[256, 3, 32, 32], y : bf16[8, 256, 16, 16]) { return dw = grad(sum(f32(conv2d(x, w, 32, 0)) * f32(y)), w) }
entry more(x : bf16[8, 3, 512, 512], w : bf16[1024, 3, 32, 32], y : bf16[8, 1024, 16, 16]) { return dw = grad(sum(f32(conv2d(x, w, 32, 0)) * f32(y)), w) }
# SUMS: conv_filter_grad filter groups=1 m=256 weights=3072 {{.*}} wgmma.columns={{[1-9]}}
# SUMS: conv_filter_grad filter groups=1 m=1024 weights=3072 {{.*}} wgmma.columns=0
