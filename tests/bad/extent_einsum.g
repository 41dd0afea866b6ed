entry f(x : f32[n <= 8, n], w : f32[8, 3]) { return y = einsum("ii->i", x), z = einsum("ij,ik->jk", x, w) }
