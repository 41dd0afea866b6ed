# Attention on heads where they lie: in parts of one product's result, of several blocks of queries and keys, stored
# transposed and beside each other.
entry causal(x : f32[2, 133, 3 * 40], w : f32[2, 133, 40]) {
  q, k, v = split(x * 2, 3, axis = -1)
  y = from_heads(attention(to_heads(q, 5), to_heads(k, 5), to_heads(v, 5), causal = true))
  return y, dx = grad(sum(y * w), x) * 3
}
entry shared(x : f32[1, 70, 4 * 24 + 2 * 24 + 2 * 40], w : f32[1, 70, 160], m : f32[70, 70]) { # two heads share keys
  z = x + 1
  y = from_heads(attention(to_heads(z[:, :, :96], 4), to_heads(z[:, :, 96:144], 2), to_heads(z[:, :, 144:], 2), mask = m > 0))
  return y, dx = grad(sum(y * w), x) * 3
}
entry half(x : f16[1, 67, 3 * 16], w : f16[1, 67, 16]) {
  q, k, v = split(x * 2, 3, axis = -1)
  y = from_heads(attention(to_heads(q, 2), to_heads(k, 2), to_heads(v, 2)))
  return y, dx = grad(sum(y * w), x) * 3
}
