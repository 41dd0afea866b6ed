# args: --emit=cuda
entry attend(x : f32[1, 2, t <= 9, 8]) { return y = attention(x, x, x) }
