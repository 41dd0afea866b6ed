entry f(x : f32[n <= 8, 4], w : f32[4, 3]) { return y = einsum("ij,jk->ik", x, w) }
