entry f(x : f32[n <= 8, 4]) { return y = x[0], z = x[:, 0] }
