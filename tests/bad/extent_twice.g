entry f(x : f32[n <= 8, 4], y : f32[n <= 8]) { return z = sum(x) + sum(y) }
