entry f(x : q8_0[8, 32], y : f32[2]) { return z = y }
