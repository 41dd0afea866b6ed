entry h(x : f32[n <= 1.5, 4]) { return y = x }
entry g(x : f32[n <= 0, 4], z : f32[n]) { return y = x, z }
