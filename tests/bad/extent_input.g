entry f(x : f32[n <= 8, t <= 4], y : f32[n * t, 2]) { return x, y }
