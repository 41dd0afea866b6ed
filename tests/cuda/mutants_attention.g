# Attention by wgmma in which errors are planted: more steps than stages, a last block with few rows, rows of one product's result.
entry attend_views(x : f32[1, 200, 384], w : f32[1, 200, 128]) {
  q, k, v = split(bf16(x * 2), 3, axis = -1)
  y = attention(q, k, v, causal = true)
  return y = f32(y), d = grad(sum(f32(y) * w), x)
}
