entry f(x : f32[4, n <= 8]) { return y = softmax(x) }
