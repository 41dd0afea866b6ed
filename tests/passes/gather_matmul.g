# RUN: %gc %s --emit=ir --passes='gather-matmul{reassociate=1},autodiff,dce' | FileCheck-14 %s --check-prefixes=CHECK,FREE
# RUN: %gc %s --emit=ir --passes=gather-matmul,autodiff,dce | FileCheck-14 %s --check-prefixes=CHECK,KEPT
# RUN: %gc %s --emit=ir --passes=gather-matmul,autodiff,dce --remarks=saved 2>&1 >/dev/null | FileCheck-14 %s --check-prefix=SAID
# Rows of a table times a matrix are rows of the table times it, where the table has fewer rows.
# SAID: gather_matmul.g:28:{{[0-9]+}}: remark: the table of 7 rows is multiplied whole, though 3 are taken, so that no size decides the bits of its gradients; with --reassociate only these are multiplied [saved]
# SAID-NOT: multiplied whole
# Gradients come to the table's rows, too, where that does not depend on the number of rows taken.
entry few(id : i32[4, 5]) {
  param table : f32[7, 3] = glorot()
  param w : f32[3, 2] = glorot()
  x = gather(table, id)
  dt, dw = grad(sum((x @ w) ** 2), [table, w])
  return dt, dw
}
# CHECK-LABEL: entry few
# FREE: [[ALL:%[0-9]+]] = matmul %table, %w : f32[7,2]
# FREE: gather [[ALL]], %id : f32[4,5,2] {{.*}}gather_matmul.g:{{[0-9]+}}:7
# FREE: [[D:%[0-9]+]] = gather_grad {{.*}}, %id {rows = 7} : f32[7,2]
# FREE-DAG: %dw = matmul %table, [[D]] {ta = 1} : f32[3,2]
# FREE-DAG: %dt = matmul [[D]], %w {tb = 1} : f32[7,3]
# KEPT-NOT: matmul %table
# KEPT: return

# As many columns of the weight as rows of the table: also of three rows, where the table has more
entry wide(id : i32[3], wide : i32[40]) {
  param table : f32[7, 3] = glorot()
  param out : f32[3, 7] = glorot()
  dt, dw = grad(sum((gather(table, id) @ out) ** 2), [table, out])
  du, dv = grad(sum((gather(table, wide) @ out) ** 2), [table, out])
  return dt, dw, du, dv
}
# CHECK-LABEL: entry wide
# FREE: matmul %table, %out : f32[7,7]
# FREE-NOT: matmul %table, %out
# KEPT: matmul %table, %out : f32[7,7]
# KEPT: matmul %table, %out : f32[7,7]
# CHECK: return

# The product would be large beside both: 7 * 60 numbers
entry large(id : i32[60]) {
  param table : f32[7, 3] = glorot()
  param much : f32[3, 60] = glorot()
  dt, dw = grad(sum((gather(table, id) @ much) ** 2), [table, much])
  return dt, dw
}
# CHECK-LABEL: entry large
# KEPT-NOT: matmul %table, %much
# CHECK: return

# An input is no param: its rows may be bounded in another program
entry given(id : i32[40], table : f32[7, 9], w : f32[9, 9]) {
  dt, dw = grad(sum((gather(table, id) @ w) ** 2), [table, w])
  return dt, dw
}
# CHECK-LABEL: entry given
# FREE: matmul %table, %w
# KEPT-NOT: matmul %table, %w
# CHECK: return

# More rows than are taken; a product that is larger than the rows; rows that are read again, or taken again.
entry kept(id : i32[2, 3], ids : i32[4, 5], more : i32[4, 5], some : i32[4, 5], table : f32[7, 3], w : f32[3, 2],
           wide : f32[3, 40]) {
  x = gather(table, ids)
  again = sum(gather(table, some))
  return a = gather(table, id) @ w, b = gather(table, more) @ wide, c = x @ w, x, d = gather(table, some) @ w, again
}
# CHECK-LABEL: entry kept
# CHECK-NOT: matmul %table

# A value that a gradient is taken with respect to must stay.
entry asked(id : i32[20], table : f32[7, 3], w : f32[3, 2]) {
  x = gather(table, id)
  return dx = grad(sum((x @ w) ** 2), x)
}
# CHECK-LABEL: entry asked
# CHECK-NOT: matmul %table
# CHECK: return
