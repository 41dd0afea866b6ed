# RUN: %gc -O2 %s -o %t && %t f | FileCheck-14 --check-prefix=SUMS %s
# RUN: %gc %s --target=cpu --print-schedules | FileCheck-14 %s
# Sums of products of integers that floats hold are exact up to 2^24, as those of f64 are: Winograd's method would round
# these, of which each is between 2^23 and 2^24. A convolution of which one operand has other numbers still uses it.
let C = 64
entry f() {
  x = i32(floor(uniform(190, 255.99, shape = [1, C, 16, 16])))
  w = u8(floor(uniform(60, 127.99, shape = [C, C, 3, 3])))
  y = conv2d(f32(x) - 3, f32(w), pad = 1)
  z = conv2d(f64(x) - 3, f64(w), pad = 1)
  u = conv2d(round(f32(x) * 0.5), f32(w) + 1, pad = 1)
  v = conv2d(round(f64(x) * 0.5), f64(w) + 1, pad = 1)
  return d = max(abs(f64(y) - z)), e = max(abs(f64(u) - v))
}
# SUMS: d = 0
# SUMS-NEXT: e = 0
entry g(x : f32[1, C, 16, 16]) {
  state w : u8[C, C, 3, 3] = u8(floor(uniform(60, 127.99)))
  return y = conv2d(x, f32(w), pad = 1)
}
# CHECK-NOT: winograd {{.*}}entries=f
# CHECK: winograd {{.*}}entries=g
# CHECK-NOT: winograd {{.*}}entries=f
