# RUN: %gc -O2 %s -o %t.own && %t.own f --threads 2 --output.y %t.npy > %t.log
# RUN: %gc -O2 -march=x86-64-v3 %s -o %t.v3 && %t.v3 f --threads 1 --output.y %t.v3.npy > %t.log
# RUN: cmp %t.npy %t.v3.npy
# RUN: if grep -q avx_vnni /proc/cpuinfo; then %gc -O2 -march=alderlake %s -o %t.vex && %t.vex f --output.y %t.vex.npy > %t.log && cmp %t.npy %t.vex.npy; fi
# RUN: %gc -O2 -march=x86-64-v3 --emit=c %s -o - | FileCheck-14 %s
# Products of two quantized matrices have the same bits by each instruction: four bytes at once in registers of both
# widths, two numbers of 16 bits; and for any number of threads. One row, and rows that are worth packing, in chains of
# 1,024; columns, groups and parts of words that are left over; and the least integers on both sides.
let K = 1101
let G = 32
let S = (K + G - 1) // G

# CHECK-DAG: GC_TILE_INTEGERS(tile_integers_Q8_1x16_a576_b24_g32,
# CHECK-DAG: GC_TILE_INTEGERS(tile_integers_WORDS_5x16_a576_b16_g32,
# CHECK-DAG: GC_PACK_WORDS(pack_words_Q8_16_b24_to16_g32,

def check(x, y) {
  state q : i8[K, 24] = i8(floor(uniform(-128, 127.99)))
  state s : bf16[S, 24] = uniform(-1, 1)
  a = dequantize(q, s, group = G)
  row, r = quantize(x, axis = 1)
  rows, rs = quantize(y, axis = 1)
  least = i8(zeros([1, K]) - 128)
  few = dequantize(row, r, axis = 1) @ a
  many = dequantize(rows, rs, axis = 1) @ a
  low = dequantize(least, bf16(ones([1, S])), axis = 1) @ dequantize(i8(zeros([K, 24]) - 128), s)
  return concat([few, relu(many) + 1, low], axis = 0)
}
entry f() { return y = check(normal(shape = [1, K]), normal(shape = [15, K])) as net }
