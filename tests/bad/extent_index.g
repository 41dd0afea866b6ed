entry f(x : f32[n <= 8, 4]) { return y = x[2], z = x[0], w = x[-1] }
