entry f(x : f32[n <= 8, t <= 6, 16], mask : bool[n, t]) { return y = mha(x, 4, mask = mask) as a }
entry g(x : f32[n <= 8, 4, t <= 6, 16], mask : bool[n, 4]) { return y = attention(x, x, x, mask = mask) }
