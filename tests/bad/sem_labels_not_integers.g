entry f(x : f32[4, 8], labels : f32[4]) { return a = xent(x, labels) }
