# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# Vectors, stacks and transposed operands all become one matmul; a stack times a matrix is one product.
entry f(x : f32[2, 3, 4], w : f32[4, 5], v : f32[4], u : f32[5, 4], s : f32[2, 5, 4]) {
  return a = x @ w, b = w' @ v, c = v @ v, d = x @ u', e = x @ s', g = v @ s'
}

# CHECK:      entry f(%x : f32[2,3,4], %w : f32[4,5], %v : f32[4], %u : f32[5,4], %s : f32[2,5,4])
# CHECK-NEXT:   %5 = reshape %x : f32[6,4]
# CHECK-NEXT:   %6 = matmul %5, %w : f32[6,5]
# CHECK-NEXT:   %a = reshape %6 : f32[2,3,5]
# CHECK-NEXT:   %8 = transpose %w {perm = [1, 0]} : f32[5,4]
# CHECK-NEXT:   %9 = reshape %v : f32[4,1]
# CHECK-NEXT:   %10 = matmul %w, %9 {ta = 1} : f32[5,1]
# CHECK-NEXT:   %b = reshape %10 : f32[5]
# CHECK-NEXT:   %12 = reshape %v : f32[1,4]
# CHECK-NEXT:   %13 = reshape %v : f32[4,1]
# CHECK-NEXT:   %14 = matmul %12, %13 : f32[1,1]
# CHECK-NEXT:   %c = reshape %14 : f32[]
# CHECK-NEXT:   %16 = transpose %u {perm = [1, 0]} : f32[4,5]
# CHECK-NEXT:   %17 = reshape %x : f32[6,4]
# CHECK-NEXT:   %18 = matmul %17, %u {tb = 1} : f32[6,5]
# CHECK-NEXT:   %d = reshape %18 : f32[2,3,5]
# CHECK-NEXT:   %20 = transpose %s {perm = [0, 2, 1]} : f32[2,4,5]
# CHECK-NEXT:   %e = matmul %x, %s {tb = 1} : f32[2,3,5]
# CHECK-NEXT:   %22 = transpose %s {perm = [0, 2, 1]} : f32[2,4,5]
# CHECK-NEXT:   %23 = reshape %v : f32[1,4]
# CHECK-NEXT:   %24 = broadcast %23 : f32[2,1,4]
# CHECK-NEXT:   %25 = matmul %24, %s {tb = 1} : f32[2,1,5]
# CHECK-NEXT:   %g = reshape %25 : f32[2,5]
# CHECK-NEXT:   return %a, %b, %c, %d, %e, %g {names = "a,b,c,d,e,g"}
