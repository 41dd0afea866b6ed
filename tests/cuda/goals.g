# Kernels whose speed has a goal: the entries of goals.def. Operands of the goals' dtypes, so that no conversion counts.
entry product_4096(x : bf16[4096, 4096], w : bf16[4096, 4096]) { return y = x @ w }
entry product_8192(x : bf16[8192, 8192], w : bf16[8192, 8192]) { return y = x @ w }
entry product_f32(x : f32[4096, 4096], w : f32[4096, 4096]) { return y = x @ w }
entry weight_grad(x : f32[4096, 4096], dy : f32[4096, 4096]) { return dw = transpose(x, [1, 0]) @ dy }
entry head(x : bf16[4096, 768], w : bf16[768, 50257]) { return y = x @ w }
entry head_grad(dy : bf16[4096, 50257], x : bf16[4096, 768]) { return dw = transpose(x, [1, 0]) @ dy }
entry small_grad(x : bf16[4096, 768], dy : bf16[4096, 768]) { return dw = transpose(x, [1, 0]) @ dy }
entry thin(x : bf16[1, 4096], w : bf16[4096, 16384]) { return y = x @ w }
entry thin_f32(x : f32[1, 4096], w : f32[4096, 16384]) { return y = x @ w }
entry attend(q : bf16[4, 12, 1024, 64], k : bf16[4, 12, 1024, 64], v : bf16[4, 12, 1024, 64]) {
  return y = attention(q, k, v, causal = true)
}
entry attend_grad(q : bf16[4, 12, 1024, 64], k : bf16[4, 12, 1024, 64], v : bf16[4, 12, 1024, 64], dy : bf16[4, 12, 1024, 64]) {
  y = attention(q, k, v, causal = true)
  dq, dk, dv = grad(sum(f32(y) * f32(dy)), [q, k, v])
  return dq, dk, dv
}
entry attend_long(q : bf16[1, 16, 8192, 128], k : bf16[1, 16, 8192, 128], v : bf16[1, 16, 8192, 128]) {
  return y = attention(q, k, v)
}
entry attend_long_grad(q : bf16[1, 16, 8192, 128], k : bf16[1, 16, 8192, 128], v : bf16[1, 16, 8192, 128], dy : bf16[1, 16, 8192, 128]) {
  y = attention(q, k, v)
  dq, dk, dv = grad(sum(f32(y) * f32(dy)), [q, k, v])
  return dq, dk, dv
}
entry decode(q : bf16[1, 8, 1, 64], k : bf16[1, 8, 8192, 64], v : bf16[1, 8, 8192, 64]) { return y = attention(q, k, v) }
entry decode_f32(q : f32[1, 8, 1, 64], k : f32[1, 8, 8192, 64], v : f32[1, 8, 8192, 64]) { return y = attention(q, k, v) }
entry conv(x : bf16[32, 128, 28, 28], w : bf16[128, 128, 3, 3]) { return y = conv2d(x, w, pad = 1) }
entry conv_grads(x : bf16[32, 128, 28, 28], w : bf16[128, 128, 3, 3], dy : bf16[32, 128, 28, 28]) {
  dx, dw = grad(sum(f32(conv2d(x, w, pad = 1)) * f32(dy)), [x, w])
  return dx, dw
}
entry patches(x : bf16[64, 3, 224, 224], w : bf16[768, 3, 16, 16]) { return y = conv2d(x, w, 16, 0) }
entry patches_grad(x : bf16[64, 3, 224, 224], w : bf16[768, 3, 16, 16], dy : bf16[64, 768, 14, 14]) {
  return dw = grad(sum(f32(conv2d(x, w, 16, 0)) * f32(dy)), w)
}
entry depthwise(x : f32[32, 96, 56, 56], w : f32[96, 1, 7, 7]) { return y = conv2d(x, w, pad = 3, groups = 96) }
entry depthwise_grads(x : f32[32, 96, 56, 56], w : f32[96, 1, 7, 7], dy : f32[32, 96, 56, 56]) {
  dx, dw = grad(sum(conv2d(x, w, pad = 3, groups = 96) * dy), [x, w])
  return dx, dw
}
entry transposed(x : f32[4096, 4096]) { return y = transpose(x) }
entry softmax_rows(x : f32[16384, 4096]) { return y = softmax(x) }
entry norm_rows(x : f32[16384, 4096], g : f32[4096], b : f32[4096]) { return y = layer_norm(x) * g + b }
entry gelu_all(x : f32[16384, 4096]) { return y = gelu(x) }
entry total(x : f32[16384, 4096]) { return y = mean(x * x) }
entry columns(x : f32[16384, 4096]) { return y = sum(x, axis = 0) }
entry few_tiles(x : bf16[256, 3072], w : bf16[3072, 768]) { return y = x @ w }
entry chains(x : f32[256, 3072], w : f32[3072, 768]) { return y = x @ w }
entry few_results(x : f32[32, 1024], w : f32[256, 1024]) { return y = x @ w' }
entry few_rows(x : f32[64, 2048], g : f32[2048], b : f32[2048]) { return y = layer_norm(x) * g + b }
entry thin_q8(x : f32[1, 4096], q : i8[4096, 16384], s : bf16[128, 16384]) { return y = x @ dequantize(q, s) }
entry thin_q4(x : f32[1, 4096], q : u8[2048, 16384], s : bf16[128, 16384]) { return y = x @ dequantize(q, s) }
entry head_q8(x : f32[1, 2048], q : i8[32000, 2048], s : bf16[32000, 64]) { return y = x @ dequantize(q, s, axis = 1)' }
entry many_q8(x : f32[64, 4096], q : i8[4096, 16384], s : bf16[128, 16384]) { return y = x @ dequantize(q, s) }
entry tall_q4(x : f32[512, 4096], q : u8[16384, 2048], s : bf16[16384, 128]) { return y = x @ dequantize(q, s, axis = 1)' }
entry many_bf16_q8(x : bf16[64, 4096], q : i8[4096, 16384], s : bf16[128, 16384]) {
  return y = x @ dequantize(q, s, dtype = bf16)
}
entry tall_f16_q4(x : f16[512, 4096], q : u8[16384, 2048], s : bf16[16384, 128]) {
  return y = x @ dequantize(q, s, axis = 1, dtype = f16)'
}
entry rows_q8(x : f32[8, 4096], q : i8[4096, 16384], s : bf16[128, 16384]) { return y = x @ dequantize(q, s) }
entry one_bf16_q8(x : bf16[1, 2048], q : i8[2048, 2048], s : bf16[64, 2048]) { return y = x @ dequantize(q, s, dtype = bf16) }
entry one_bf16_q4(x : bf16[1, 5632], q : u8[2816, 2048], s : bf16[176, 2048]) { return y = x @ dequantize(q, s, dtype = bf16) }
entry few_bf16_q8(x : bf16[16, 4096], q : i8[4096, 16384], s : bf16[128, 16384]) { return y = x @ dequantize(q, s, dtype = bf16) }
entry cumulative(x : f32[16384, 4096]) { return y = cumsum(x) }
entry cumulative_columns(x : f32[16384, 4096]) { return y = cumsum(x, 0) }
entry cumulative_long(x : f32[3, 5000000]) { return y = cumsum(x) }
entry cumulative_four(x : f32[1000003, 4]) { return y = cumsum(x, 0) }
entry softmax_long(x : f32[1, 10000000]) { return y = softmax(x) }
entry argmax_long(x : f32[1, 10000000]) { return y = argmax(x) }
entry loss_long(x : f32[4, 1000000], t : i32[4]) { return y = xent(x, t) }
entry sorted(x : f32[16384, 4096]) { return y = sort(x) }
entry sorted_long(x : f32[4194304]) { return y = sort(x) }
entry added(x : f32[50257, 768], ids : i32[65536], y : f32[65536, 768]) { return z = scatter_add(x, ids, y) }
entry gathered_grad(t : f32[50257, 768], ids : i32[16384], dy : f32[16384, 768]) { return dt = grad(sum(gather(t, ids) * dy), t) }
