entry a(x : f32[4]) { return y = softmax(x, axis = none), z = x + none }
