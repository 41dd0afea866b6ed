# RUN: %gc %s --target=cpu -march=cooperlake --print-schedules | FileCheck-14 --check-prefix=PAIRS %s
# RUN: %gc %s --target=cpu -march=sapphirerapids --print-schedules | FileCheck-14 --check-prefix=TILES %s
# RUN: env CC="cc -mno-amx-bf16" %gc %s --target=cpu -march=sapphirerapids --print-schedules | FileCheck-14 --check-prefix=PLAIN %s
# RUN: %gc %s --target=cpu -march=sapphirerapids --emit=c -o - | FileCheck-14 --check-prefix=AMX %s
# RUN: %gc %s --target=cpu -march=x86-64-v3 --emit=c -o - | FileCheck-14 %s
# Products of bf16 run in tile registers if there are any, or in pairs where the instruction for them is faster than an
# fma in f32. Otherwise, and those of f16,
# the tile that meets a panel of B first converts it, and a result without more to do is rounded row by row.
# Every value is rounded once: not as it is stored, nor where an op chooses one of its operands.
entry f(x : bf16[200, 300], w : bf16[300, 200]) { return y = x @ w }
entry g(x : f16[200, 300], w : f16[300, 200]) { return y = x @ w }
entry h(x : bf16[64, 32], w : bf16[32, 16], r : bf16[64, 16]) { return y = max(relu(x @ w + r), r) }

# PAIRS: m=200 {{.*}}converted=yes pairs=yes
# PAIRS: m=200 {{.*}}converted=yes pairs=no
# TILES: m=200 {{.*}}rows=28 tiles=7 {{.*}}pack=yes {{.*}}converted=yes pairs=yes amx=yes
# TILES: m=200 {{.*}}pack_first=yes {{.*}}converted=yes pairs=no amx=no
# PLAIN: m=200 {{.*}}pack_first=yes {{.*}}converted=yes pairs=no
# PLAIN: m=200 {{.*}}pack_first=yes {{.*}}converted=yes pairs=no
# AMX: tdpbf16ps
# AMX: k0_matmul
# AMX: amx_configure();
# AMX: amx_fill(to, 64, 300);
# AMX: tile_amx_2x4_a160_b64(packed_a
# AMX: store_row_bf16(out0 + flat, acc, 64);
# AMX: amx_release();
# AMX-NEXT: }
# AMX: k1_matmul
# AMX-NOT: amx_
# AMX: k2_matmul
# AMX: "sapphirerapids", "{{.*}},amx-tile,amx-bf16",
# CHECK: k0_matmul
# CHECK: tile_bf16_{{[0-9]}}x16{{.*}}(packed_a
# CHECK: tile_f32_{{[0-9]}}x16{{.*}}(packed_a
# CHECK: store_row_bf16(out0 + flat, acc, 16);
# CHECK: k1_matmul
# CHECK: store_row_f16(out0 + flat, acc, 16);
# CHECK: k2_matmul
# CHECK: const float [[P:v[0-9]+]] = bf16_round(acc[j]);
# CHECK: const float [[R:v[0-9]+]] = bf16_to_f32(in2[
# CHECK: const float [[S:v[0-9]+]] = bf16_round([[P]] + [[R]]);
# CHECK-NEXT: const float [[T:v[0-9]+]] = [[S]] < 0 ? 0 : [[S]];
# CHECK-NOT: bf16_round
# CHECK-NOT: f32_to_bf16
# CHECK: = bf16_bits(
