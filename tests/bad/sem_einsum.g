entry a(x : f32[2, 3], y : f32[4, 5]) { return z = einsum("ij,jk->ik", x, y) }
entry b(x : f32[2, 3]) { return z = einsum("ij->ii", x) }
entry c(x : f32[2, 3]) { return z = einsum("ijk->i", x) }
entry d(x : f32[2, 3]) { return z = einsum("ij,jk->ik", x) }
entry e(x : f32[2, 3]) { return z = einsum("ii", x) }
entry f(x : f32[2, 3]) { return z = einsum("i1->i", x) }
entry g(x : f32[2, 3]) { return z = einsum("ij->ik", x) }
entry h(x : f32[2, 3], y : i32[3, 2]) { return z = einsum("ij,jk->ik", x, y) }
