# RUN: %gc %s --target=cpu -march=cooperlake --print-schedules | FileCheck-14 --check-prefix=PAIRS %s
# RUN: %gc %s --target=cpu -march=sapphirerapids --print-schedules | FileCheck-14 --check-prefix=PLAIN %s
# RUN: %gc %s --target=cpu -march=x86-64-v3 --emit=c -o - | FileCheck-14 %s
# Products of bf16 run in pairs where the instruction for them is faster than an fma in f32. Otherwise, and those of f16,
# the tile that meets a panel of B first converts it, and a result without more to do is rounded row by row.
entry f(x : bf16[200, 300], w : bf16[300, 200]) { return y = x @ w }
entry g(x : f16[200, 300], w : f16[300, 200]) { return y = x @ w }

# PAIRS: m=200 {{.*}}converted=yes pairs=yes
# PAIRS: m=200 {{.*}}converted=yes pairs=no
# PLAIN: m=200 {{.*}}pack_first=yes {{.*}}converted=yes pairs=no
# PLAIN: m=200 {{.*}}pack_first=yes {{.*}}converted=yes pairs=no
# CHECK: k0_matmul
# CHECK: tile_bf16_{{[0-9]}}x16{{.*}}(packed_a
# CHECK: tile_f32_{{[0-9]}}x16{{.*}}(packed_a
# CHECK: store_row_bf16(out0 + flat, acc, 16);
# CHECK: k1_matmul
# CHECK: store_row_f16(out0 + flat, acc, 16);
