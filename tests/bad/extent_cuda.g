# args: --target=cuda --emit=cuda
entry f(x : f32[n <= 8, 4]) { return y = x * 2 }
