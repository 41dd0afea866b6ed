entry f(x : f32[4, 8]) { return a = concat(x, x), b = concat(x, x, 0), c = concat(x, x, axis = 1), d = stack(x, x, x) }
