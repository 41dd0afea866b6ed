# RUN: %gc %s -O2 --target=cpu -march=x86-64-v3 --emit=c -o - | FileCheck-14 %s
# RUN: %gc %s -O2 --target=cpu -march=x86-64-v3 --emit=c -o - | FileCheck-14 --check-prefix=TILE %s
# RUN: %gc %s -O2 --target=cpu -march=x86-64-v3 --emit=c -o - | FileCheck-14 --check-prefix=ROWS %s
# Library functions of a tile's epilogue are called for a few rows at once: one array for each, and what waits for another
# one's result in a round of its own. Those of fewer numbers, and functions without arrays, stay where they are.
entry f(x : f32[64, 32], w : f32[32, 40], b : f32[40]) { c = x @ w + b
 return y = c * sigmoid(c) + tanh(c), z = erf(exp(c) + 1) }
# CHECK: static void k0_matmul
# CHECK: case 6: tile_
# CHECK: GC_LANES f32 array0[(128 + VW - 1) / VW * VW];
# CHECK: some = rows - some0 < 8 ? rows - some0 : 8;
# CHECK: array0[h * 16 + j] = [[C:v[0-9]+]];
# CHECK-NEXT: array1[h * 16 + j] = [[C]];
# CHECK-NEXT: array2[h * 16 + j] = [[C]];
# CHECK: all_{{.*}}_f32(array0, some * 16);
# CHECK: all_exp_f32(array{{[012]}}, some * 16);
# CHECK: array3[h * 16 + j] =
# CHECK: all_erf_f32(array3, some * 16);
# CHECK: = array3[h * 16 + j];
# CHECK: out1[
entry g(x : f32[64, 32], w : f32[32, 40], b : f32[64, 40]) { return y = log(x @ w + b) }
# CHECK: static void k1_matmul
# CHECK-NOT: array0
# CHECK: f32_log(
# CHECK-NOT: array0
# CHECK: static void k2_
# CHECK: {k1_matmul
# So are the exps of a row: they stay in one for the last pass, or in one of a block of lanes where no pass reads them again.
entry rows(x : f32[6, 77], t : u8[6]) { return p = softmax(x), loss = xent(x * 2, t) }
# ROWS: static void k2_softmax_mul_xent
# ROWS: _Alignas(64) float r1_k[80];
# ROWS: GC_LANES f32 r3_x[64];
# ROWS: r0_s[l] = [[M:v[0-9]+]] > r0_s[l] ? [[M]] : r0_s[l];
# ROWS: r1_k[c] = {{.*}} - r0;
# ROWS: r3_x[l] = {{.*}} - r2;
# ROWS: all_exp_down_f32(r1_k + c0, w);
# ROWS: (r1_k + c0)[l];
# ROWS: all_exp_down_f32(r3_x, w);
# ROWS: divide(r1_k[c], r1);
# A maximum that the program has, too, tells NaN; a row of few numbers has no vectors to compute side by side.
entry other(x : f32[6, 77], y : f32[6, 15]) { return m = max(x, axis=-1), p = softmax(x), q = softmax(y) }
# ROWS: static void k3_reduce_max_softmax
# ROWS: > r0_s[l] ||
# ROWS: all_exp_down_f32(
# ROWS: static void k4_softmax
# ROWS: f32_exp_down(
# A loop over elements takes a block of them for each round of its calls: tanh waits for the sigmoids.
entry cell(z : f32[1, 600], c : f32[1, 200], few : f32[15]) {
  d = sigmoid(z[:, 0:200]) * c + sigmoid(z[:, 200:400])
  return h = sigmoid(z[:, 400:]) * tanh(d), e = d, f = tanh(few)
}
# ROWS: static void k5_
# ROWS: GC_LANES f32 array3[64];
# ROWS: some = 200 - some0 < 64 ? 200 - some0 : 64;
# ROWS: array2[i - some0] =
# ROWS: all_sigmoid_f32(array0, some);
# ROWS: all_sigmoid_f32(array2, some);
# ROWS: array3[i - some0] =
# ROWS: all_tanh_f32(array3, some);
# ROWS: out0[i] =
# ROWS: static void k6_tanh
# ROWS-NOT: array0
# ROWS: f32_tanh(
# The loop over a short depth stays a loop, so that a tile's sums stay in registers.
entry h(x : f32[1, 3, 64, 64], w : f32[32, 3, 3, 3]) { return y = conv2d(x, w, stride=2, pad=1) }
# TILE: void window_6x16_
# TILE: GC_ROLLED
# TILE-NEXT: for (long k = 0; k < 9L; k++
