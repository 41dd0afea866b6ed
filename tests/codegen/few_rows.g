# Few rows times a large matrix, as in the decoding of a language model, which memory bounds.
# RUN: %gc %s --target=cpu -march=icelake-server --emit=c -o - | FileCheck-14 %s
# RUN: %gc %s --target=cpu -march=icelake-server --print-schedules | FileCheck-14 --check-prefix=SCHEDULE %s

# A transposed matrix is transposed by the tile that reads it, if that is the only one.
entry turned(x : bf16[n <= 20, 300], w : bf16[5000, 300]) { return y = x @ w' }
# CHECK: k0_matmul
# CHECK: if (extent0 <= 5)
# CHECK: tile_turned_bf16_1x64_a300_1_b300(
# CHECK: } else {
# CHECK: pack_t_bf16(
# SCHEDULE: m=20 {{.*}}pack=yes unpacked=5 

# A tile that is alone asks for rows of B a page ahead.
entry ahead(x : f32[2, 300], w : f32[300, 5000]) { return y = x @ w }
# CHECK: k1_matmul
# CHECK: tile_f32_2x64_a300_1_b5000({{.*}}, b + 80000, 5000L, 1);
# SCHEDULE: m=2 {{.*}}ahead=16

# Of several tiles of rows a thread may have one. None does so where B stays in the cache.
entry several(x : f32[200, 300], w : f32[300, 5000]) { return y = x @ w }
entry near(x : f32[2, 30], w : f32[30, 50]) { return y = x @ w }
# CHECK: k2_matmul
# CHECK: const bool alone = (tile1 - tile0) == 1;
# CHECK: tile_f32_5x64_{{.*}}, alone ? b + 80000 : prefetch, 5000L, alone ? 1 :
# CHECK: k3_matmul
# CHECK-NOT: alone
# SCHEDULE: m=2 n=50 {{.*}}ahead=0

# A single row meets several panels of a matrix from memory at a time, also if a run decides that there is one row.
def layer(x) { return silu(linear(x, 2000)) }
entry single(x : f32[1, 1300]) { return y = layer(x) as net }
entry perhaps(x : f32[n <= 100, 1300]) { return y = layer(x) as net }
# CHECK: k4_matmul
# CHECK: for (; first + 4 <= u1 && first + 4 <= 31; first += 4) {
# CHECK: row_f32_4x64(A, B + first * 83200, 83200L, c, 1300, NULL);
# CHECK: k5_matmul
# CHECK: if (extent0 == 1) {
# CHECK: row_f32_4x64(
# SCHEDULE: m=1 {{.*}}streams=4
