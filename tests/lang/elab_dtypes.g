# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# A literal takes the other operand's dtype, integers of two widths meet in the wider one, sums, running sums and
# products of bytes and bools are in i32 and those of floats in their own dtype, the mean of bools is an f32.
entry f(a : u8[3], b : i32[3], c : f16[3], d : f32[3]) {
  return p = a + 1, q = a + b, r = c * 0.5, s = f32(c) + d, t = sum(a), u = mean(a == b), v = max(a, b)
}

# CHECK:      entry f(%a : u8[3], %b : i32[3], %c : f16[3], %d : f32[3])
# CHECK-NEXT:   %4 = const {value = 1} : u8[3]
# CHECK-NEXT:   %p = add %a, %4 : u8[3]
# CHECK-NEXT:   %6 = convert %a : i32[3]
# CHECK-NEXT:   %q = add %6, %b : i32[3]
# CHECK-NEXT:   %8 = const {value = 0.5} : f16[3]
# CHECK-NEXT:   %r = mul %c, %8 : f16[3]
# CHECK-NEXT:   %10 = convert %c : f32[3]
# CHECK-NEXT:   %s = add %10, %d : f32[3]
# CHECK-NEXT:   %12 = convert %a : i32[3]
# CHECK-NEXT:   %t = sum %12 {axes = [0]} : i32[]
# CHECK-NEXT:   %14 = convert %a : i32[3]
# CHECK-NEXT:   %15 = eq %14, %b : bool[3]
# CHECK-NEXT:   %16 = convert %15 : f32[3]
# CHECK-NEXT:   %17 = sum %16 {axes = [0]} : f32[]
# CHECK-NEXT:   %18 = const {value = 3} : f32[]
# CHECK-NEXT:   %u = div %17, %18 : f32[]
# CHECK-NEXT:   %20 = convert %a : i32[3]
# CHECK-NEXT:   %v = max %20, %b : i32[3]
# CHECK-NEXT:   return %p, %q, %r, %s, %t, %u, %v {names = "p,q,r,s,t,u,v", aggregates = "each,each,each,each,sum,mean,each"}

entry g(a : u8[3], b : bool[3], c : bf16[3]) {
  return s = sum(b), p = prod(a), q = prod(b), r = cumsum(a), t = cumsum(b), u = cumsum(c)
}

# CHECK:      entry g(%a : u8[3], %b : bool[3], %c : bf16[3])
# CHECK-NEXT:   %3 = convert %b : i32[3]
# CHECK-NEXT:   %s = sum %3 {axes = [0]} : i32[]
# CHECK-NEXT:   %5 = convert %a : i32[3]
# CHECK-NEXT:   %p = prod %5 {axes = [0]} : i32[]
# CHECK-NEXT:   %7 = convert %b : i32[3]
# CHECK-NEXT:   %q = prod %7 {axes = [0]} : i32[]
# CHECK-NEXT:   %9 = convert %a : i32[3]
# CHECK-NEXT:   %r = cumsum %9 : i32[3]
# CHECK-NEXT:   %11 = convert %b : i32[3]
# CHECK-NEXT:   %t = cumsum %11 : i32[3]
# CHECK-NEXT:   %u = cumsum %c : bf16[3]
# CHECK-NEXT:   return %s, %p, %q, %r, %t, %u {names = "s,p,q,r,t,u", aggregates = "sum,each,each,each,each,each"}

# integers and bools are finite
entry whole(a : i32[4], b : bool[4]) { return p = isfinite(a), q = isfinite(b) }
# CHECK: entry whole
# CHECK: %number = convert %b : i32[4]
# CHECK: %q = eq %{{[0-9]+}}, %{{[0-9]+}} : bool[4]

# a list of numbers: equal neighbours are one comparison, and one number alone is a constant
entry list() { return a = f16([1, 1, 2.5]), b = f32([7, 7]), c = i32([[2, 1], [true, false]]) }
# CHECK:      entry list
# CHECK-NEXT:   [[AT:%[0-9]+]] = iota : i32[3]
# CHECK-NEXT:   [[LAST:%[0-9]+]] = const {value = 2.5} : f16[3]
# CHECK-NEXT:   [[FIRST:%[0-9]+]] = const {value = 1} : f16[3]
# CHECK-NEXT:   const {value = 1} : i32[3]
# CHECK-NEXT:   [[C:%[0-9]+]] = le [[AT]], {{.*}} : bool[3]
# CHECK-NEXT:   %a = where [[C]], [[FIRST]], [[LAST]] : f16[3]
# CHECK-NEXT:   iota : i32[2]
# CHECK-NEXT:   const {value = 7} : f32[2]
# CHECK-NEXT:   iota : i32[4]
# CHECK:        %c = reshape %{{[0-9]+}} : i32[2,2]
