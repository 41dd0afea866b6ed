# RUN: %gc %s -o %t && %t e | FileCheck-14 %s
# What is equal stays in its order; along any axis; the largest first; NaN is largest.
# CHECK: rows =
# CHECK-NEXT: {{\[}}[1 0 2]
# CHECK-NEXT: [0 2 1]]
# CHECK-NEXT: columns =
# CHECK-NEXT: {{\[}}[1 0 1]
# CHECK-NEXT: [0 1 0]]
# CHECK-NEXT: down =
# CHECK-NEXT: {{\[}}[0 2 1]
# CHECK-NEXT: [1 0 2]]
# CHECK-NEXT: odd = [0 2 1]
# CHECK-NEXT: same = 1
entry e() {
  x = reshape(f32((iota(6) * 2 + 3) % 4), [2, 3])      # 3 1 3, 1 3 1
  z = f32(iota(3) - 1) / f32(iota(3) * 0)              # -inf, NaN, inf
  return rows = argsort(x), columns = argsort(x, axis = 0), down = argsort(x, descending = true), odd = argsort(z),
         same = mean(take_along(x, argsort(x)) == sort(x))
}
