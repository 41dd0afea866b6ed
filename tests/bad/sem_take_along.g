entry a(x : f32[2, 3], i : i32[3, 1]) { return y = take_along(x, i) }
entry b(x : f32[2, 3], i : i32[2]) { return y = take_along(x, i, axis = 0) }
entry c(x : f32[2, 3], i : f32[2, 1]) { return y = take_along(x, i) }
entry d(x : f32[2, 3], i : i32[2, 1]) { return y = take_along(x, i, axis = 2) }
entry e(x : f32[]) { return y = cumsum(x) }
entry f(x : f32[2, 3]) { return y = cumsum(x, axis = -3) }
