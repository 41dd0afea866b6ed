# RUN: %gc %s --emit=ir --passes= --reassociate 2>&1 | FileCheck-14 %s --implicit-check-not=warning
# RUN: %gc %s --emit=ir --passes= 2>&1 | FileCheck-14 %s --check-prefix=ORDER
# Several tensors are multiplied from left to right, and with --reassociate in the order of the least work, whatever the order
# they are named in. A warning says if that is less than half of it.
entry chain(x : f32[4, 50], y : f32[50, 6], z : f32[6, 70], w : f32[70, 3]) {
  return a = einsum("ab,bc,cd,de->ae", x, y, z, w), b = einsum("cd,ab,de,bc->ae", z, x, w, y)
}
# CHECK-LABEL: entry chain
# CHECK:     matmul {{.*}} : f32[1,4,6]
# CHECK:     matmul {{.*}} : f32[1,6,3]
# CHECK:     matmul {{.*}} : f32[1,4,3]
# CHECK:     matmul {{.*}} : f32[1,6,3]
# CHECK:     matmul {{.*}} : f32[1,4,6]
# CHECK:     matmul {{.*}} : f32[1,3,4]
# CHECK:     return
# ORDER:     warning: einsum multiplies 4 tensors from left to right: 3.4e+05 multiplications, where the fewest are 2.53e+03
# ORDER:     hint: multiply tensors 1 and 3 first: name them first, or in an einsum of their own
# ORDER:     warning: einsum multiplies 3 tensors from left to right: 252 multiplications, where the fewest are 100
# ORDER:     hint: multiply tensors 2 and 3 first
# ORDER-NOT: warning
# ORDER:     entry chain
# ORDER:     matmul {{.*}} : f32[1,4,6]
# ORDER:     matmul {{.*}} : f32[1,4,70]
# ORDER:     matmul {{.*}} : f32[1,4,3]
# ORDER:     matmul {{.*}} : f32[1,420,200]

# A letter that only one tensor has is summed there first; one that all have is a batch to the end.
entry batch(x : f32[2, 3, 5], y : f32[2, 5, 7], z : f32[2, 7]) {
  return a = einsum("bij,bjk,bk->bi", x, y, z), outer = einsum("i,j,k->kij", z[0], y[0, 0], x[0, 0])
}
# CHECK-LABEL: entry batch
# CHECK:     matmul {{.*}} : f32[2,5,1]
# CHECK:     matmul {{.*}} : f32[2,3,1]
# CHECK-NOT: f32[2,3,7]
# CHECK:     return
