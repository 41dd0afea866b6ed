# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# A signature binds the dims it does not know, checks those it does, and defaults may use them.
let C = 4
def mix(x : f32[b, t, C], w : f32[C, d], times = b * t, heads : i32 = 2) {
  return reshape(x @ w, [heads, times * d / heads])
}
def any(x : [..., d]) { return sum(x, axis = -1) / d }
entry f(x : f32[2, 3, 4], w : f32[4, 6]) {
  return y = mix(x, w) : f32[heads_, 18], z = any(any(x)) : f32[2]
}
let heads_ = 2

# CHECK:      entry f(%x : f32[2,3,4], %w : f32[4,6])
# CHECK-NEXT:   %2 = reshape %x : f32[6,4] "mix"
# CHECK-NEXT:   %3 = matmul %2, %w : f32[6,6] "mix"
# CHECK-NEXT:   %4 = reshape %3 : f32[2,3,6] "mix"
# CHECK-NEXT:   %y = reshape %4 : f32[2,18] "mix"
# CHECK-NEXT:   %6 = sum %x {axes = [2]} : f32[2,3] "any"
# CHECK-NEXT:   %7 = const {value = 4} : f32[2,3] "any"
# CHECK-NEXT:   %8 = div %6, %7 : f32[2,3] "any"
# CHECK-NEXT:   %9 = sum %8 {axes = [1]} : f32[2] "any"
# CHECK-NEXT:   %10 = const {value = 3} : f32[2] "any"
# CHECK-NEXT:   %z = div %9, %10 : f32[2] "any"
# CHECK-NEXT:   return %y, %z {names = "y,z"}
