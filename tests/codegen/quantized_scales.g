# RUN: %gc -march=x86-64-v3 %s -o %t.quantized && %t.quantized f --output.y %t.npy > %t.log
# RUN: %gc -march=x86-64-v3 %s -D PLAIN=1 -o %t.plain && %t.plain f --expect y=%t.npy --rtol 0 --atol 0 > %t.log
# RUN: FileCheck-14 %s < %t.log
# Products of 4-bit matrices whose scales are so large that eight times some of them is infinite: what an infinite number
# is no part of stays finite, with the bits of the product of the dequantized matrix.
# CHECK: finite = {{[1-9][0-9]+}}
let PLAIN = 0
hyper one = 1
entry f() {
  state p : u8[48, 40] = u8(floor(uniform(1, 15.99))) * 17
  state s : bf16[3, 40] = uniform(4.2e37, 4.6e37)
  w = dequantize(p, s, group = 32, extent = 96)
  if PLAIN == 1 { w = w * one }
  y = normal(shape = [7, 96]) * 1e-30 @ w
  return y, finite = sum(f32(isfinite(y)))
}
