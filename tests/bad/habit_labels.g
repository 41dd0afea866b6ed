entry swapped(x : f32[8, 4], l : i32[8]) { return y = xent(l, x) }
entry one_hot_rows(x : f32[8, 4], l : f32[8, 4]) { return y = xent(x, l) }
entry floats(x : f32[8, 4], l : f32[8]) { return y = xent(x, l) }
entry ids(x : i32[8], table : f32[9, 4]) { return y = embed(table, 9, 4) }
