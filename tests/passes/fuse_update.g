# RUN: %gc --target=cuda --emit=ir %s -o - | grep -E '^(entry|  [^ ])' | FileCheck-14 %s
# RUN: %gc -march=x86-64-v3 --emit=ir %s -o - | grep -E '^(entry|  [^ ])' | FileCheck-14 %s --check-prefix=CPU
# What a map computes for a dynamic_update alone is written where it belongs, perhaps behind a reshape that moves nothing,
# on a target that has such kernels.
entry written(x : f32[2, 1, 8], at : i32[]) {
  state rows : f32[2, 16, 8] = zeros()
  rows := dynamic_update(rows, reshape(reshape(x, [2, 2, 4]) * 3, [2, 1, 8]), at, axis = 1)
  return s = sum(rows)
}
# CHECK-LABEL: entry written
# CHECK: = kernel %{{.*}}, %at, %{{.*}} {name = "dynamic_update+mul"} : f32[2,16,8] {{.*}} in place of
# CPU-LABEL: entry written
# CPU: mul
# CPU: = dynamic_update
# Not if others read it, nor if a product runs between the two, nor what a product computes.
entry others(x : f32[2, 1, 8], at : i32[]) {
  state kept : f32[2, 16, 8] = zeros()
  y = x * 3
  kept := dynamic_update(kept, y, at, axis = 1)
  return s = sum(kept), y
}
# CHECK-LABEL: entry others
# CHECK: = dynamic_update
entry later(x : f32[8], w : f32[8, 8], at : i32[]) {
  state late : f32[16, 8] = zeros()
  y = x * 3
  p = (x[none] @ w) @ w
  late := dynamic_update(late, y[none], at + i32(p[0, 0]))
  return s = sum(late)
}
# CHECK-LABEL: entry later
# CHECK: = dynamic_update
entry product(x : f32[1, 8], w : f32[8, 8], at : i32[]) {
  state made : f32[16, 8] = zeros()
  made := dynamic_update(made, x @ w, at)
  return s = sum(made)
}
# CHECK-LABEL: entry product
# CHECK: = dynamic_update
