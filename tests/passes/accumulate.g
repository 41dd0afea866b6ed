# RUN: %gc --emit=ir --passes=fold,cse,dce,autodiff,fold,cse,dce,accumulate %s -o - | FileCheck-14 %s
# RUN: %gc -O2 --emit=ir %s -o - | FileCheck-14 %s --check-prefix=PLAN
# RUN: %gc -O2 --exact --emit=ir %s -o - | FileCheck-14 %s --check-prefix=EXACT
# The gradient of a table that is also the matrix of a product: rows go into the product's gradient,
# in place. CHECK lines follow the order of entries.
let N = 50

def table(C) {
  param w : f32[N, C] = normal()
  return w
}

entry tied(ids : i32[8], next : i32[8]) {
  w = table(8) as w
  loss = mean(xent(gather(w, ids) @ w', next))
  minimize loss with sgd(0.1)
  return loss
}
# CHECK-LABEL: entry tied
# CHECK: [[G:%[^ ]+]] = matmul {{.*}} : f32[50,8]
# CHECK: gather_grad %{{[^ ]+}}, %ids, [[G]] {rows = 50} : f32[50,8]
# PLAN-LABEL: entry tied
# PLAN: gather_grad {{.*}} : f32[50,8] {{.*}} in place of

# More ids than rows: the same, so that rows of a bounded batch are added as those of any extent.
entry long(ids : i32[80], x : f32[50, 4], dy : f32[80, 4]) {
  return y = scatter_add(x * 2, ids, dy)
}
# CHECK-LABEL: entry long
# CHECK: [[X:%[^ ]+]] = mul %x
# CHECK: gather_grad %dy, %ids, [[X]] {rows = 50}

# Rows that two sums read are scattered once.
entry twice(ids : i32[8], x : f32[50, 4], dy : f32[8, 4]) {
  return y = scatter_add(x * 2, ids, dy), z = scatter_add(exp(x), ids, dy)
}
# CHECK-LABEL: entry twice
# CHECK: gather_grad %dy, %ids {rows = 50}
# CHECK-NOT: gather_grad
# CHECK: return

# A half's sum is rounded once; a constant has no bytes to add to.
entry halves(ids : i32[8], x : f16[50, 4], dy : f16[8, 4], dz : f32[8, 4]) {
  return a = scatter_add(x * 2, ids, dy), b = scatter_add(zeros([50, 4]), ids, dz)
}
# CHECK-LABEL: entry halves
# CHECK-NOT: gather_grad %{{[^ ]+}}, %ids, %
# CHECK: return

# A momentum may be in slices, to which ranks add whole sums: with --exact one process does, too.
entry momentum(ids : i32[8], y : f32[8, 8]) {
  loss = mean((gather(table(8) as m, ids) - y) ** 2)
  minimize loss with sgd(0.1, momentum = 0.9)
  return loss
}
# CHECK-LABEL: entry momentum
# CHECK: [[M:%[^ ]+]] = mul %sgd.m
# CHECK: gather_grad %{{[^ ]+}}, %ids, [[M]] {rows = 50}
# EXACT-LABEL: entry tied
# EXACT: gather_grad %{{[^ ]+}}, %ids, %{{[^ ]+}} {rows = 50}
# EXACT-LABEL: entry momentum
# EXACT: gather_grad %{{[^ ]+}}, %ids {rows = 50}
