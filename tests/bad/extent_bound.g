entry h(x : f32[n <= 1.5, 4]) { return y = x }
entry g(x : f32[n <= 0, 4], z : f32[n]) { return y = x, z }
entry k(x : f32[2, 3, 4 * t <= 9]) { return y = x }
entry l(x : f32[2 * t + 1 <= 2]) { return y = x }
