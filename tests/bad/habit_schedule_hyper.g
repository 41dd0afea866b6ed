hyper lr = cosine(1e-3, 100)
entry f(x : f32[8, 4]) { return y = x * lr }
