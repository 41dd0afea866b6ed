# attention of halves on wgmma: causal and not, several blocks of queries and keys, the last ones with few rows, heads that
# share keys, masks, rows of 64 and 128 elements and what does not fill them, queries that are part of a product's result
def attend(q, k, v, w) {
  y = attention(q, k, v)
  dq, dk, dv = grad(sum(f32(y) * w), [q, k, v])
  return f32(y), f32(dq), f32(dk), f32(dv)
}
entry causal(x : f32[2, 136, 3 * 64], k : f32[2, 1, 136, 64], w : f32[2, 136, 2 * 64]) {
  q = to_heads(bf16(x * 2)[:, :, 64:], 2)
  a = bf16(k)
  y = attention(q, a, a, causal = true)
  loss = sum(from_heads(f32(y)) * w)
  return y = f32(y), d = grad(loss, x), dk = grad(loss, k)
}
entry wide(q : f32[1, 140, 128], k : f32[1, 200, 128], v : f32[1, 200, 104], w : f32[1, 140, 104]) { # more steps than stages
  y, dq, dk, dv = attend(f16(q), f16(k), f16(v), w)
  return y, dq, dk, dv
}
entry masked(q : f32[66, 48], k : f32[129, 48], w : f32[66, 48], m : f32[66, 129]) { # one warpgroup multiplies
  a = bf16(q)
  b = bf16(k)
  y = attention(a, b, b, mask = m > 0)
  dq, dk = grad(sum(f32(y) * w), [a, b])
  return y = f32(y), dq = f32(dq), dk = f32(dk)
}
entry grouped(q : f32[2, 136, 128], k : f32[1, 136, 128], v : f32[1, 136, 112], w : f32[2, 136, 112]) { # longer rows, so fewer keys a block
  a = bf16(q)
  b = bf16(k)
  c = bf16(v)
  y = attention(a, b, c, causal = true)
  dq, dk, dv = grad(sum(f32(y) * w), [a, b, c])
  return y = f32(y), dq = f32(dq), dk = f32(dk), dv = f32(dv)
}
