entry e(x : f32[2, 3]) { return y = argsort(x, descending = 1) }
entry f(x : f32[]) { return y = argsort(x) }
entry g(x : f32[2, 3]) { return y = argsort(x, axis = 2) }
entry a(x : f32[2, 3]) { return y = topk(x, 4)[0] }
entry b(x : f32[]) { return y = sort(x) }
entry c(x : f32[2, 3]) { return y = sort(x, axis = 2) }
entry d(x : f32[]) { return y = topk(x, 1)[0] }
entry h(x : f32[2, 3]) { return y = topk(x, 3, axis = 0)[0], z = topk(x, 2, axis = 2)[1] }
