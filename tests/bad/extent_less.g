entry f(x : f32[n < 8, 4]) { return x }
entry g(x : f32[None, 4]) { return x }
