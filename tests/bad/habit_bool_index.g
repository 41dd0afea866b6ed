entry f(x : f32[8, 4]) { return y = x[x > 0] }
