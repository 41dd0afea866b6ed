entry a(x : f32[2, 3, h <= 8, 2 * v <= 8]) { return y = max_pool(max_pool(x, 2), 2) }
entry b(x : f32[2, 3, 8, t <= 8]) { return y = avg_pool(x, 3, stride = 1, pad = 1, count_include_pad = false) }
entry c(x : f32[2, 3, t <= 8]) { return y = conv1(x, 4, 3, stride = 2) as one }
entry d(x : f32[2, 3, t <= 8]) { return y = max_pool(x, 3, stride = 1, pad = 2, dilation = 2) }
entry e(x : f32[2, 3, t <= 8]) { return y = conv1(x, 4, 8, pad = "valid") as two, z = conv1(x, 4, 9, pad = 0) as none }
entry f(x : f32[2, 3, t <= 8]) { return y = conv1(x[:, :, 1:], 4, 3, pad = 2) as three }
entry g(x : f32[2, 6, t <= 8]) { return y = conv1(x[:, :, :t][:, ::-1], 4, 3) as four, z = topk(x, 9)[0] }
