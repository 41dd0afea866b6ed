# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# Compile-time loops and conditions leave no trace but what they computed.
let widths = [3, 5]
def act(x, f) { return f(x) }
entry f(x : f32[2, 2]) {
  s = 0
  for i in 0..4 { s = s + i ** 2 }
  if s == 14 and not training { x = x * s } else { x = x @ nothing }
  hs, gs = for i in 0..3 { yield x[0] + i, x[1] * i }
  return y = act(x, relu), hs, gs, n = widths[1] % 3 / 2
}

# CHECK:      entry f(%x : f32[2,2])
# CHECK-NEXT:   %1 = const {value = 14} : f32[2,2]
# CHECK-NEXT:   %x.1 = mul %x, %1 : f32[2,2]
# CHECK-NEXT:   %3 = slice %x.1 {starts = [0, 0], steps = [1, 1]} : f32[1,2]
# CHECK-NEXT:   %4 = reshape %3 : f32[2]
# CHECK-NEXT:   %5 = const : f32[2]
# CHECK-NEXT:   %6 = add %4, %5 : f32[2]
# CHECK-NEXT:   %7 = slice %x.1 {starts = [1, 0], steps = [1, 1]} : f32[1,2]
# CHECK-NEXT:   %8 = reshape %7 : f32[2]
# CHECK-NEXT:   %9 = const : f32[2]
# CHECK-NEXT:   %10 = mul %8, %9 : f32[2]
# CHECK-NEXT:   %11 = slice %x.1 {starts = [0, 0], steps = [1, 1]} : f32[1,2]
# CHECK-NEXT:   %12 = reshape %11 : f32[2]
# CHECK-NEXT:   %13 = const {value = 1} : f32[2]
# CHECK-NEXT:   %14 = add %12, %13 : f32[2]
# CHECK-NEXT:   %15 = slice %x.1 {starts = [1, 0], steps = [1, 1]} : f32[1,2]
# CHECK-NEXT:   %16 = reshape %15 : f32[2]
# CHECK-NEXT:   %17 = const {value = 1} : f32[2]
# CHECK-NEXT:   %18 = mul %16, %17 : f32[2]
# CHECK-NEXT:   %19 = slice %x.1 {starts = [0, 0], steps = [1, 1]} : f32[1,2]
# CHECK-NEXT:   %20 = reshape %19 : f32[2]
# CHECK-NEXT:   %21 = const {value = 2} : f32[2]
# CHECK-NEXT:   %22 = add %20, %21 : f32[2]
# CHECK-NEXT:   %23 = slice %x.1 {starts = [1, 0], steps = [1, 1]} : f32[1,2]
# CHECK-NEXT:   %24 = reshape %23 : f32[2]
# CHECK-NEXT:   %25 = const {value = 2} : f32[2]
# CHECK-NEXT:   %26 = mul %24, %25 : f32[2]
# CHECK-NEXT:   %27 = reshape %6 : f32[1,2]
# CHECK-NEXT:   %28 = reshape %14 : f32[1,2]
# CHECK-NEXT:   %29 = reshape %22 : f32[1,2]
# CHECK-NEXT:   %hs = concat %27, %28, %29 : f32[3,2]
# CHECK-NEXT:   %31 = reshape %10 : f32[1,2]
# CHECK-NEXT:   %32 = reshape %18 : f32[1,2]
# CHECK-NEXT:   %33 = reshape %26 : f32[1,2]
# CHECK-NEXT:   %gs = concat %31, %32, %33 : f32[3,2]
# CHECK-NEXT:   %y = relu %x.1 : f32[2,2] "act"
# CHECK-NEXT:   %36 = const {value = 1} : i32[]
# CHECK-NEXT:   return %y, %hs, %gs, %36 {names = "y,hs,gs,n"}
