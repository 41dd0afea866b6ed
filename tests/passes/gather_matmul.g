# RUN: %gc %s --emit=ir --passes=gather-matmul,autodiff,dce | FileCheck-14 %s
# Rows of a table times a matrix are rows of the table times it, where the table has fewer rows.
# Gradients come to the table's rows, too.
entry few(id : i32[4, 5], table : f32[7, 3], w : f32[3, 2]) {
  x = gather(table, id)
  dt, dw = grad(sum((x @ w) ** 2), [table, w])
  return dt, dw
}
# CHECK-LABEL: entry few
# CHECK: [[ALL:%[0-9]+]] = matmul %table, %w : f32[7,2]
# CHECK: gather [[ALL]], %id : f32[4,5,2] {{.*}}gather_matmul.g:5:7
# CHECK: [[D:%[0-9]+]] = gather_grad {{.*}}, %id {rows = 7} : f32[7,2]
# CHECK-DAG: %dw = matmul %table, [[D]] {ta = 1} : f32[3,2]
# CHECK-DAG: %dt = matmul [[D]], %w {tb = 1} : f32[7,3]

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
