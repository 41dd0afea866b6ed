# Attention by wgmma in which errors are planted: more steps than stages, a last block with few rows, heads that share keys.
entry attend_views(x : f32[1, 200, 512], w : f32[1, 200, 256]) {
  z = bf16(x * 2)
  q = to_heads(z[:, :, :256], 2)
  k = to_heads(z[:, :, 256:384], 1)
  v = to_heads(z[:, :, 384:], 1)
  y = from_heads(attention(q, k, v, causal = true))
  return y = f32(y), d = grad(sum(f32(y) * w), x)
}
# One query whose keys thread blocks share.
entry decode(q : f32[1, 2, 1, 258], k : f32[1, 1, 140, 258]) { return y = attention(q, k, k) }
