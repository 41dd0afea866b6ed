entry f(x : f32[n <= 8, t <= 4], y : f32[n * t, 2]) { return x, y }
entry g(x : f32[n <= 8, 4], y : f32[n - 1, 2]) { return x, y }
entry h(y : f32[n + 1 <= 9, 2], x : f32[n + 2 <= 9, 4], z : f32[m + 2 <= 2]) { return x, y, z }
