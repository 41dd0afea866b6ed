# RUN: %gc -O2 %s -o %t.quantized && %t.quantized f --threads 2 --output.y %t.npy > %t.log
# RUN: %gc -O2 %s -D PLAIN=1 -o %t.plain && %t.plain f --output.y %t.plain.npy --output.z %t.z.npy > %t.log
# RUN: cmp %t.npy %t.plain.npy
# RUN: %t.plain some --z '%t.z.npy[0:3]' --output.y %t.3.npy > %t.log && %t.quantized some --z '%t.z.npy[0:3]' --expect y=%t.3.npy --rtol 0 --atol 0 > %t.log
# RUN: %t.plain some --z '%t.z.npy[29:30]' --output.y %t.1.npy > %t.log && %t.quantized some --z '%t.z.npy[29:30]' --expect y=%t.1.npy --rtol 0 --atol 0 > %t.log
# RUN: %t.plain some --z '%t.z.npy' --output.y %t.30.npy > %t.log && %t.quantized some --z '%t.z.npy' --expect y=%t.30.npy --rtol 0 --atol 0 > %t.log
# RUN: %gc -O2 -march=x86-64-v3 --emit=c %s -o - | FileCheck-14 %s
# Products of quantized matrices, which lie in panels, have the bits of those of the dequantized matrices: one row,
# rows of one tile and rows that are worth packing, chains of 1,024, columns and groups that are left over, and
# matrices that are used transposed. Of rows whose number the run decides, few are not worth packing. Rows are gathered
# out of panels.
let K = 1101
let N = 120 # the last panel of any width has columns left over, and few enough
let G = 32
let PLAIN = 0
hyper one = 1

# CHECK-DAG: GC_TILE_Q8(tile_Q8_1x16_a1101_b16_g32,
# CHECK-DAG: GC_DEQUANTIZE(dequantize_Q8_16_b16_to16_g32,

def check(x, y, z) {
  state q : i8[K, N] = i8(floor(uniform(-128, 127.99)))
  state s : bf16[(K + G - 1) // G, N] = uniform(-2.02, 2.02) # those of 2 and more take another way
  state p : u8[(K + 1) // 2, N] = u8(floor(uniform(0, 255.99)))
  state r : bf16[(K + G - 1) // G, N] = uniform(-2.02, 2.02)
  state u : i8[N, K] = i8(floor(uniform(-128, 127.99)))
  state us : bf16[N, (K + G - 1) // G] = uniform(-1, 1)
  state v : u8[N, (K + 1) // 2] = u8(floor(uniform(0, 255.99)))
  state vs : bf16[N, (K + G - 1) // G] = uniform(-1, 1)
  state w : f32[K, N] = normal()
  state n : i8[70, 41] = i8(floor(uniform(-128, 127.99))) # too narrow for panels
  state ns : bf16[3, 41] = uniform(-1, 1)
  m = w
  e = dequantize(n, ns, group = G)
  a = dequantize(q, s, group = G)
  b = dequantize(p, r, group = G, extent = K)
  c = dequantize(u, us, group = G, axis = 1)
  d = dequantize(v, vs, group = G, axis = 1, extent = K)
  if PLAIN == 1 {
    a = a * one
    b = b * one
    c = c * one
    d = d * one
    m = m * one
    e = e * one
  }
  id = iota(N / 3) * 2 + N / 3 - 1
  gathered = concat([reshape(gather(c, id), [-1]), reshape(gather(d, id), [-1]), reshape(gather(m, id), [-1]), reshape(x @ m, [-1]), reshape(y[:, :70] @ e, [-1])])
  row = concat([relu(x @ a) + 1, x @ b, x @ c', x @ d'], axis = 1)
  tile = concat([relu(y @ b) + 1, y @ c'], axis = 1)
  return row, tile, concat([z @ a, z @ d'], axis = 1), gathered
}
entry f() { 
  row, tile, rows, gathered = check(normal(shape = [1, K]), normal(shape = [5, K]), normal(shape = [30, K])) as net
  return y = concat([reshape(row, [-1]), reshape(tile, [-1]), reshape(rows, [-1]), gathered]), z = normal(shape = [30, K])
}
def few_or_many(z) {
  state p : u8[(K + 1) // 2, N] = u8(floor(uniform(0, 255.99)))
  state r : bf16[(K + G - 1) // G, N] = uniform(-2.02, 2.02)
  b = dequantize(p, r, group = G, extent = K)
  if PLAIN == 1 { b = b * one }
  return relu(z @ b) + 1
}
entry some(z : f32[n <= 30, K]) { return y = few_or_many(z) as few }
