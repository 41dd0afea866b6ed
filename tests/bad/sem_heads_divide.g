entry f(x : f32[2, 4, 12]) { return a = mha(x, 5) as a }
entry g(x : f32[2, 1, 12]) { return a = mha_step(x, 8, 0, 4) as a }
