# Attention of bf16 and its gradients, also in tile registers: heads of many lengths, in parts of one product's result;
# values longer or shorter than keys, several blocks of queries and keys, the last ones not full, masks, common keys.
entry causal(x : bf16[2, 133, 3 * 40], w : bf16[2, 133, 40]) {
  q, k, v = split(x * 0.5, 3, axis = -1)
  y = from_heads(attention(to_heads(q, 5), to_heads(k, 5), to_heads(v, 5), causal = true))
  return y, dx = grad(sum(y * w), x) * 2
}
entry shared(x : bf16[1, 70, 4 * 24 + 2 * 24 + 2 * 40], w : bf16[1, 70, 160], m : f32[70, 70]) { # two heads share keys
  z = x * 0.5
  y = from_heads(attention(to_heads(z[:, :, :96], 4), to_heads(z[:, :, 96:144], 2), to_heads(z[:, :, 144:], 2), mask = m > 0))
  return y, dx = grad(sum(y * w), x) * 2
}
entry cross(q : bf16[3, 97, 32], k : bf16[3, 161, 32], v : bf16[3, 161, 51], w : bf16[3, 97, 51]) {
  y = attention(q, k, v)
  l = sum(y * w)
  return y, dq = grad(l, q), dk = grad(l, k), dv = grad(l, v)
}
entry wide(x : bf16[2, 80, 3 * 256], w : bf16[2, 80, 256]) {
  q, k, v = split(x * 0.25, 3, axis = -1)
  y = from_heads(attention(to_heads(q, 2), to_heads(k, 2), to_heads(v, 2), causal = true))
  return y, dx = grad(sum(y * w), x)
}
entry long(q : bf16[1, 40, 600], k : bf16[1, 50, 600], v : bf16[1, 50, 33], w : bf16[1, 40, 33]) { # blocks of 32
  y = attention(q, k, v)
  l = sum(y * w)
  return y, dq = grad(l, q), dk = grad(l, k), dv = grad(l, v)
}
entry longest(q : bf16[2, 70, 1100], k : bf16[2, 70, 1100], v : bf16[2, 70, 16], w : bf16[2, 70, 16]) { # blocks in scratch
  y = attention(q, k, v, causal = true)
  l = sum(y * w)
  return y, dq = grad(l, q), dk = grad(l, k), dv = grad(l, v)
}
entry one(q : bf16[8, 1, 64], k : bf16[2, 75, 64], v : bf16[2, 75, 64], m : f32[1, 75]) { # a query for each of 4 heads
  return y = attention(q, k, v, mask = m > 0)
}
entry hidden(q : bf16[3, 35, 64], k : bf16[3, 140, 64], v : bf16[3, 140, 64], m : f32[3, 35, 140], w : bf16[3, 35, 64]) {
  y = attention(q, k, v, mask = m > 1.5) # some rows see no key
  l = sum(y * w)
  return y, dq = grad(l, q), dk = grad(l, k), dv = grad(l, v)
}
