# attention of halves, on tensor cores unless --exact: rows and heads of uneven lengths, several steps and blocks, heads
# that share keys, masks, heads of keys with parts of their columns a block
def attend(q, k, v, w) {
  y = attention(q, k, v)
  dq, dk, dv = grad(sum(f32(y) * f32(w)), [q, k, v])
  return f32(y), f32(dq), f32(dk), f32(dv)
}
entry causal(q : f32[1, 2, 150, 40], k : f32[1, 2, 150, 40], v : f32[1, 2, 150, 33], w : f32[1, 2, 150, 33]) {
  a = bf16(q)
  b = bf16(k)
  c = bf16(v)
  y = attention(a, b, c, causal = true)
  dq, dk, dv = grad(sum(f32(y) * w), [a, b, c])
  return y = f32(y), dq = f32(dq), dk = f32(dk), dv = f32(dv)
}
entry masked(q : f32[1, 4, 21, 64], k : f32[1, 2, 70, 64], w : f32[1, 4, 21, 64], m : f32[4, 1, 70]) {
  a = f16(q)
  b = f16(k)
  y = attention(a, b, b, mask = m > 0)
  dq, dk = grad(sum(f32(y) * w), [a, b])
  return y = f32(y), dq = f32(dq), dk = f32(dk)
}
entry unseen(q : f32[9, 16], k : f32[33, 16], w : f32[9, 16], m : f32[9, 33]) {
  a = bf16(q)
  b = bf16(k)
  y = attention(a, b, b, mask = m > 3)
  dq, dk = grad(sum(f32(y) * w), [a, b])
  return y = f32(y), dq = f32(dq), dk = f32(dk)
}
entry long(q : f32[2, 70, 130], k : f32[2, 40, 130], v : f32[2, 40, 6], w : f32[2, 70, 6]) {
  y, dq, dk, dv = attend(bf16(q), bf16(k), bf16(v), w)
  return y, dq, dk, dv
}
entry longest(q : f32[33, 256], k : f32[50, 256], w : f32[33, 256]) {
  y, dq, dk, dv = attend(f16(q), f16(k), f16(k), w)
  return y, dq, dk, dv
}
entry many(q : f32[3, 140, 8], w : f32[3, 140, 8]) {
  y, dq, dk, dv = attend(bf16(q), bf16(q), bf16(q), w)
  return y, dq, dk, dv
}
