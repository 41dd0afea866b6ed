# RUN: %gc -O2 %s -o %t.own && %t.own f --threads 2 --output.y %t.npy > %t.log && FileCheck-14 --check-prefix=SAME %s < %t.log
# RUN: %gc -O2 -march=x86-64-v3 %s -o %t.v3 && %t.v3 f --threads 1 --output.y %t.v3.npy > %t.log
# RUN: cmp %t.npy %t.v3.npy
# RUN: %t.own f --output.z %t.z.npy > %t.log && %t.own one --z '%t.z.npy[29:30]' --output.y %t.1.npy > %t.log
# RUN: %t.own some --z '%t.z.npy[29:30]' --expect y=%t.1.npy --rtol 0 --atol 0 > %t.log
# RUN: %t.own some --z '%t.z.npy' --output.y %t.30.npy > %t.log
# RUN: %t.own last --y %t.30.npy --expect y=%t.1.npy --rtol 0 --atol 0 > %t.log
# RUN: %t.v3 some --z '%t.z.npy[29:30]' --expect y=%t.1.npy --rtol 0 --atol 0 > %t.log
# RUN: if grep -q avx_vnni /proc/cpuinfo; then %gc -O2 -march=alderlake %s -o %t.vex && %t.vex f --output.y %t.vex.npy > %t.log && cmp %t.npy %t.vex.npy; fi
# RUN: %gc -O2 -march=x86-64-v3 --emit=c %s -o - | FileCheck-14 %s
# Products of two quantized matrices have the same bits by each instruction: four bytes at once in registers of both
# widths, two numbers of 16 bits; and for any number of threads. One row, some, and rows that are worth packing, which have
# the bits of fewer, in chains of 1,024; columns, groups and parts of words that are left over, behind panels of 64; and the
# least integers on both sides.
# A row of its own takes all chains of a panel before the next panel, in a run of up to 30 rows, too.
# Rows of stored integers are interleaved, but for those that something else reads: a constant.
# Of the left side integers have 8 or 16 bits, of the right one 8 or 4.
let K = 1101
let N = 88
let G = 32
let S = (K + G - 1) // G

# CHECK-DAG: GC_TILE_INTEGERS(tile_integers8_Q8_1x16_a576_b16_g32,
# CHECK-DAG: GC_TILE_INTEGERS(tile_integers16_WORDS_5x16_a576_b16_g32,
# CHECK-DAG: GC_PACK_WORDS(pack_words_Q8_16_b16_to16_g32,
# CHECK-DAG: GC_TILE_INTEGERS(tile_integers8_INTERLEAVED_Q8_1x16_a576_b16_g32,
# CHECK-DAG: GC_TILE_INTEGERS(tile_integers16_INTERLEAVED_Q8_5x16_a576_b16_g32,
# CHECK-DAG: GC_TILE_INTEGERS(tile_integers16_INTERLEAVED_Q4_1x8_a576_b16_g32,
# CHECK-DAG: GC_PACK_WORDS(pack_words_INTERLEAVED_Q8_16_b16_to16_g32,
# CHECK-DAG: GC_PACK_WORDS(pack_words_INTERLEAVED_Q4_16_b16_to16_g32,
# CHECK-DAG: GC_TILE_INTEGERS(tile_integers16_INTERLEAVED_WORDS_5x16_a576_b16_g32,

# CHECK: for (long q = u0; q < u1; q++) {
# CHECK-NEXT: if (q < 5) {
# CHECK-NEXT: const long n = q * 16;
# CHECK-NEXT: f32 *c =
# CHECK-NEXT: for (long k0 = 0; k0 < 1101; k0 += 1024) {
# CHECK: tile_integers16_{{.*}}_1x16_a576_b16_g32(packed_a + k0 / 1024 * 576, b, c, 88L, depth, k0 == 0 ? NULL : c, s);

def check(x, y) {
  state q : i8[K, N] = i8(floor(uniform(-128, 127.99)))
  state p : u8[(K + 1) // 2, N] = u8(floor(uniform(0, 255.99)))
  state s : bf16[S, N] = uniform(-1, 1)
  a = dequantize(q, s, group = G)
  b = dequantize(p, s, group = G, extent = K)
  row, r = quantize(x, axis = 1)
  rows, rs = quantize(y, axis = 1)
  row16, r16 = quantize(x, axis = 1, bits = 16)
  rows16, rs16 = quantize(y, axis = 1, bits = 16)
  few = dequantize(row, r, axis = 1)
  many = dequantize(rows, rs, axis = 1)
  few16 = dequantize(row16, r16, axis = 1, bits = 16)
  many16 = dequantize(rows16, rs16, axis = 1, bits = 16)
  one = bf16(ones([1, S]))
  state ls : bf16[S, N] = uniform(-1, 1)
  least = dequantize(i8(zeros([K, N]) - 128), ls)
  low = dequantize(i8(zeros([1, K]) - 128), one, axis = 1) @ least
  low16 = dequantize(i8(zeros([1, 2 * K]) - 127), one, axis = 1, bits = 16) @ least
  some = dequantize(rows[:5], rs[:5], axis = 1) # whose tiles read integers, not words
  some16 = dequantize(rows16[:5], rs16[:5], axis = 1, bits = 16)
  wide, narrow = many @ a, many @ b
  d = max(abs(some @ a - wide[:5])) + max(abs(some @ b - narrow[:5]))
  return concat([few @ a, few @ b, few16 @ a, few16 @ b, wide, narrow, relu(many16 @ a) + 1, many16 @ b, low, low16, many @ least, some16 @ a, some16 @ b], axis = 0), d
}
entry f() {
  y, d = check(normal(shape = [1, K]), normal(shape = [15, K])) as net
  return y, d, z = normal(shape = [30, K])
}
def deep(z) {
  state q : i8[K, N] = i8(floor(uniform(-128, 127.99)))
  state p : u8[(K + 1) // 2, N] = u8(floor(uniform(0, 255.99)))
  state s : bf16[S, N] = uniform(-1, 1)
  i, scale = quantize(z, axis = 1, bits = 16)
  x = dequantize(i, scale, axis = 1, bits = 16)
  return relu(x @ dequantize(q, s, group = G)) + 1, x @ dequantize(p, s, group = G, extent = K)
}
def deep_rows(z) {
  a, b = deep(z) as deep
  return concat([a, b], axis = 1)
}
entry some(z : f32[n <= 30, K]) { return y = deep_rows(z) as few }
entry one(z : f32[1, K]) { return y = deep_rows(z) as few }
entry last(y : f32[30, 2 * N]) { return y = y[29:] }
# SAME: d = 0
