# RUN: %gc %s --emit=ir --passes= | FileCheck-14 %s
# Several tensors are multiplied in the order of the least work, whatever the order they are named in.
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

# A letter that only one tensor has is summed there first; one that all have is a batch to the end.
entry batch(x : f32[2, 3, 5], y : f32[2, 5, 7], z : f32[2, 7]) {
  return a = einsum("bij,bjk,bk->bi", x, y, z), outer = einsum("i,j,k->kij", z[0], y[0, 0], x[0, 0])
}
# CHECK-LABEL: entry batch
# CHECK:     matmul {{.*}} : f32[2,5,1]
# CHECK:     matmul {{.*}} : f32[2,3,1]
# CHECK-NOT: f32[2,3,7]
# CHECK:     return
