entry f(x : f32[n <= 8, 8]) { return y = reshape(x, [8, 8]) }
entry g(x : f32[n <= 8, 6]) { return y = reshape(x, [n, 4]), z = reshape(x, [4 * n, 5, -1]) }
