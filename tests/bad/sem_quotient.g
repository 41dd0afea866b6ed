def f(n) { return quotient(720720, n) }
entry g(x : f32[4]) { return a = x * f(17), b = x * quotient(7, 2), c = quotient(x, 2) }
entry h(x : f32[4]) { return a = x * quotient(4611686018427387847, 2) }   # no search for divisors of so many
