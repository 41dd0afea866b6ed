# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# grad is an expression: one value, or a list of them, also of an earlier gradient.
entry f(x : f32[3], w : f32[3]) {
  L = sum(x * x * w)
  a, b = grad(L, [x, w])
  return a, b, c = grad(sum(a), x)
}

# CHECK:      entry f(%x : f32[3], %w : f32[3])
# CHECK-NEXT:   %2 = mul %x, %x : f32[3]
# CHECK-NEXT:   %3 = mul %2, %w : f32[3]
# CHECK-NEXT:   %L = sum %3 {axes = [0]} : f32[]
# CHECK-NEXT:   %a, %b = grad %L, %x, %w : f32[3], f32[3]
# CHECK-NEXT:   %7 = sum %a {axes = [0]} : f32[]
# CHECK-NEXT:   %c = grad %7, %x : f32[3]
# CHECK-NEXT:   return %a, %b, %c {names = "a,b,c"}
