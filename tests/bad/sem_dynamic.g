entry a(x : f32[2, 3], i : i32[]) { return z = dynamic_slice(x, i, 3) }
entry b(x : f32[2, 3], i : i32[1]) { return z = dynamic_slice(x, i, 1) }
entry c(x : f32[2, 3], i : i32[], y : f32[2, 4]) { return z = dynamic_update(x, y, i, axis = 1) }
entry d(x : f32[2, 3], i : i32[4], y : f32[4, 2]) { return z = scatter_add(x, i, y) }
entry e(x : f32[2, 3], i : f32[]) { return z = dynamic_slice(x, i, 1) }
