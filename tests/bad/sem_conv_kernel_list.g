entry a(x : f32[2, 3, 8, 8]) { return y = conv(x, 6, [3, 1, 5]) }
entry b(x : f32[2, 3, 8, 8]) { return y = conv_transpose(x, 6, []) }
entry c(x : f32[2, 3]) { return y = reshape(x, pair("3")) }
