# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# The key of a random op is its path; the draw counts those of a path.
def noisy(x) { return x + normal(shape = shape(x)) + uniform(0, 2, shape(x)) }
entry f(x : f32[3]) {
  y = noisy(noisy(x)) as a
  return y, keep = bernoulli(0.5, shape = [3])
}

# CHECK:      entry f(%x : f32[3])
# CHECK-NEXT:   %1 = random_normal {key = "noisy#"} : f32[3] "noisy"
# CHECK-NEXT:   %2 = add %x, %1 : f32[3] "noisy"
# CHECK-NEXT:   %3 = random_uniform {key = "noisy#", draw = 1} : f32[3] "noisy"
# CHECK-NEXT:   %4 = const {value = 2} : f32[3] "noisy"
# CHECK-NEXT:   %5 = mul %3, %4 : f32[3] "noisy"
# CHECK-NEXT:   %6 = add %2, %5 : f32[3] "noisy"
# CHECK-NEXT:   %7 = random_normal {key = "a#"} : f32[3] "a"
# CHECK-NEXT:   %8 = add %6, %7 : f32[3] "a"
# CHECK-NEXT:   %9 = random_uniform {key = "a#", draw = 1} : f32[3] "a"
# CHECK-NEXT:   %10 = const {value = 2} : f32[3] "a"
# CHECK-NEXT:   %11 = mul %9, %10 : f32[3] "a"
# CHECK-NEXT:   %y = add %8, %11 : f32[3] "a"
# CHECK-NEXT:   %13 = random_uniform {key = "#"} : f32[3]
# CHECK-NEXT:   %14 = const {value = 0.5} : f32[3]
# CHECK-NEXT:   %keep = lt %13, %14 : bool[3]
# CHECK-NEXT:   return %y, %keep {names = "y,keep"}
