let WIDTH = 3
entry f(x : f32[2 * n, 3]) { return y = sum(x) }
entry g(x : f32[n, 3]) { return y = sum(x) }
entry h(x : f32[n // 2 <= 8, 3]) { return y = sum(x) }
entry k(x : f32[4, 2 * WIDHT]) { return y = sum(x) }
entry l(x : f32[4, 3 + n * m]) { return y = sum(x) }
entry q(x : f32[n <= 4, 3], y : f32[2 * n, WIDTH]) { return sum(x), b = sum(y) }
entry r(k : f32[n, 2], x : f32[n <= 4, 3]) { return y = sum(k) + sum(x) }
