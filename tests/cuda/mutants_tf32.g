# Products by wgmma in tf32 in which errors are planted: A from registers, of a depth of which a run has 410 of 600; the
# transposed result, with rows of which it has 110 of 300; both operands along the depth, in pairs of blocks.
entry registers(x : f32[n <= 600, 72], y : f32[68, n]) { return z = transpose(x) @ transpose(y) }
entry turned(x : f32[n <= 300, 72], w : f32[72, 136]) { return y = relu(x @ w) }
entry along(x : f32[136, 104], w : f32[68, 104]) { return y = x @ transpose(w) }
