# RUN: %gc %s -O2 --target=cpu -march=x86-64-v3 --emit=c -o - | FileCheck-14 %s
# RUN: %gc %s -O2 --target=cpu -march=x86-64-v3 --emit=c -o - | FileCheck-14 --check-prefix=TILE %s
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
# CHECK: {k1_matmul
# The loop over a short depth stays a loop, so that a tile's sums stay in registers.
entry h(x : f32[1, 3, 64, 64], w : f32[32, 3, 3, 3]) { return y = conv2d(x, w, stride=2, pad=1) }
# TILE: void window_6x16_
# TILE: GC_ROLLED
# TILE-NEXT: for (long k = 0; k < 9L; k++
