# Statistics of another dtype than the images.
entry given(x : bf16[2, 3, 8, 8], m : f32[3], v : bf16[3]) { return y = batch_norm(x, m, v) }
