# RUN: %gc %s -O2 -march=x86-64-v3 --emit=ir -o %t.ir && FileCheck-14 %s <%t.ir
# RUN: %gc -x ir %t.ir -O2 -march=x86-64-v3 -o %t.v3 && %t.v3 f --seed 3 --output.y %t.npy >%t.log
# RUN: %gc %s -O2 -march=x86-64 -o %t.least && %t.least f --seed 3 --device cpu:x86-64 --expect y=%t.npy --rtol 0 --atol 0 >%t.log
# Rows of stored integers are interleaved if nothing but products of integers and gathers read them, as they lie or
# transposed, in groups of a multiple of eight. Their scales are in panels, too, as rows of their own.
# CHECK-DAG: @net.q : i8[70,48] panels 16 interleaved 4
# CHECK-DAG: @net.s : bf16[3,48] panels 16 {{.*}}layout_interleaved.g
# CHECK-DAG: @net.p : u8[35,48] panels 16 interleaved 4
# CHECK-DAG: @net.table : u8[60,35] order [1,0] panels 16 interleaved 4
# CHECK-DAG: @net.apart : i8[70,48] panels 16 {{.*}}layout_interleaved.g
# CHECK-DAG: @net.small : i8[70,48] panels 16 {{.*}}layout_interleaved.g
def net(x, id) {
  state q : i8[70, 48] = i8(floor(uniform(-128, 127.99)))
  state s : bf16[3, 48] = uniform(-1, 1)
  state p : u8[35, 48] = u8(floor(uniform(0, 255.99)))
  state ps : bf16[3, 48] = uniform(-1, 1)
  state table : u8[60, 35] = u8(floor(uniform(0, 255.99)))
  state ts : bf16[60, 3] = uniform(-1, 1)
  state apart : i8[70, 48] = i8(floor(uniform(-128, 127.99)))
  state us : bf16[3, 48] = uniform(-1, 1)
  state small : i8[70, 48] = i8(floor(uniform(-128, 127.99)))
  state ss : bf16[18, 48] = uniform(-1, 1)
  a, r = quantize(x, axis = 1)
  left = dequantize(a, r, axis = 1)
  b, t = quantize(x, axis = 1, group = 4)
  four = dequantize(b, t, axis = 1, group = 4)
  rows = dequantize(table, ts, axis = 1, extent = 70)
  return concat([left @ dequantize(q, s), left @ dequantize(p, ps, extent = 70), left @ rows', gather(rows, id), left @ dequantize(apart, us), x @ dequantize(apart, us), four @ dequantize(small, ss, group = 4)], axis = 1)
}
entry f() { return y = net(normal(shape = [5, 70]), iota(5) * 11) as net }
