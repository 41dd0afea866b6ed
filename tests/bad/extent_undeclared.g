let WIDTH = 3
entry f(x : f32[2 * n, 3]) { return y = sum(x) }
entry g(x : f32[n, 3]) { return y = sum(x) }
entry h(x : f32[n // 2 <= 8, 3]) { return y = sum(x) }
entry k(x : f32[4, 2 * WIDHT]) { return y = sum(x) }
entry l(x : f32[4, 3 + n * m]) { return y = sum(x) }
entry q(x : f32[n <= 4, 3], y : f32[2 * n, WIDTH]) { return sum(x), b = sum(y) }
def least(x) { return sum(x) / (4 * w) }
entry v(x : f32[3, 4 * w <= 16]) { return y = least(x) }
entry r(k : f32[n, 2], x : f32[n <= 4, 3]) { return y = sum(k) + sum(x) }
