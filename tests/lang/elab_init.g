# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# What an initialiser computes depends on its path and its declared shape alone.
def his(shape, gain) { return gain * normal(std = 2) }
entry f(x : f32[4]) {
  param a : f32[2, 4] = normal(std = 0.5)
  param b : f32[4] = his(gain = 3)
  param c : f32[4] = 0.25
  param d : f64[2, 2] = uniform(-1, 1)
  state n : i64 = 7
  state k : u8[2] = const(32)
  state on : bool[2] = ones()
  return y = x + c + (a + b)[0], d, n, k, on
}

# CHECK:      param @a : f32[2,4]
# CHECK-NEXT: param @b : f32[4]
# CHECK-NEXT: param @c : f32[4]
# CHECK-NEXT: param @d : f64[2,2]
# CHECK-NEXT: state @n : i64[]
# CHECK-NEXT: state @k : u8[2]
# CHECK-NEXT: state @on : bool[2]

# CHECK:      init {
# CHECK-NEXT:   %0 = random_normal {key = "a"} : f32[2,4] "a"
# CHECK-NEXT:   %1 = const {value = 0.5} : f32[2,4] "a"
# CHECK-NEXT:   %2 = mul %0, %1 : f32[2,4] "a"
# CHECK-NEXT:   store @a, %2 "a"
# CHECK-NEXT:   %3 = random_normal {key = "b"} : f32[4] "b"
# CHECK-NEXT:   %4 = const {value = 2} : f32[4] "b"
# CHECK-NEXT:   %5 = mul %3, %4 : f32[4] "b"
# CHECK-NEXT:   %6 = const {value = 3} : f32[4] "b"
# CHECK-NEXT:   %7 = mul %6, %5 : f32[4] "b"
# CHECK-NEXT:   store @b, %7 "b"
# CHECK-NEXT:   %8 = const {value = 0.25} : f32[4] "c"
# CHECK-NEXT:   store @c, %8 "c"
# CHECK-NEXT:   %9 = random_uniform {key = "d"} : f64[2,2] "d"
# CHECK-NEXT:   %10 = const {value = 2} : f64[2,2] "d"
# CHECK-NEXT:   %11 = mul %9, %10 : f64[2,2] "d"
# CHECK-NEXT:   %12 = const {value = -1} : f64[2,2] "d"
# CHECK-NEXT:   %13 = add %11, %12 : f64[2,2] "d"
# CHECK-NEXT:   store @d, %13 "d"
# CHECK-NEXT:   %14 = const {value = 7} : i64[] "n"
# CHECK-NEXT:   store @n, %14 "n"
# CHECK-NEXT:   %15 = const {value = 32} : u8[2] "k"
# CHECK-NEXT:   store @k, %15 "k"
# CHECK-NEXT:   %16 = const {value = 1} : bool[2] "on"
# CHECK-NEXT:   store @on, %16 "on"
# CHECK-NEXT:   return

# CHECK:      entry f(%x : f32[4])
# CHECK-NEXT:   %c = load @c : f32[4]
# CHECK-NEXT:   %2 = add %x, %c : f32[4]
# CHECK-NEXT:   %a = load @a : f32[2,4]
# CHECK-NEXT:   %b = load @b : f32[4]
# CHECK-NEXT:   %5 = broadcast %b : f32[2,4]
# CHECK-NEXT:   %6 = add %a, %5 : f32[2,4]
# CHECK-NEXT:   %7 = slice %6 {starts = [0, 0], steps = [1, 1]} : f32[1,4]
# CHECK-NEXT:   %8 = reshape %7 : f32[4]
# CHECK-NEXT:   %y = add %2, %8 : f32[4]
# CHECK-NEXT:   %d = load @d : f64[2,2]
# CHECK-NEXT:   %n = load @n : i64[]
# CHECK-NEXT:   %k = load @k : u8[2]
# CHECK-NEXT:   %on = load @on : bool[2]
# CHECK-NEXT:   return %y, %d, %n, %k, %on {names = "y,d,n,k,on"}
