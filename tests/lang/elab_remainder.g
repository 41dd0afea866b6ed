# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# A remainder of compile-time numbers is exact, as that of a run is, with the divisor's sign: the rounded quotient 1 / 0.1 is 10.
entry f() {
  return a = full([1], 1.0 % 0.1), b = full([1], -7.5 % 2.0), c = full([1], 7.5 % -2.0), d = full([1], 1e16 % 3.0), e = full([1], -7 % 3)
}

# CHECK:      const {value = 0.1} : f32[1]
# CHECK-NEXT: const {value = 0.5} : f32[1]
# CHECK-NEXT: const {value = -0.5} : f32[1]
# CHECK-NEXT: const {value = 1} : f32[1]
# CHECK-NEXT: const {value = 2} : i32[1]
