param w : f32[3] = zeros()
entry f(x : f32[3]) { return x }
