def first(xs) { return xs[..] }
entry f(x : f32[4, 2]) { return y = x[.., 0] }
