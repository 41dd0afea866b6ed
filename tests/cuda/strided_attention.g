# attention of views: queries, keys and values are parts of one product's result, heads of its rows; results are read
# transposed, by themselves or one beside the other
entry joined(x : f32[2, 37, 3 * 48], w : f32[2, 37, 48]) {
  q, k, v = split(x * 2, 3, axis = -1)
  y = from_heads(attention(to_heads(q, 3), to_heads(k, 3), to_heads(v, 3), causal = true))
  return y, dx = grad(sum(y * w), x) * 3
}
entry shared(x : f32[2, 21, 4 * 24 + 2 * 24 + 2 * 40], w : f32[2, 21, 160], m : f32[21, 21]) { # heads share keys
  z = x + 1
  q = to_heads(z[:, :, :96], 4)
  k = to_heads(z[:, :, 96:144], 2)
  v = to_heads(z[:, :, 144:], 2)
  y = attention(q, k, v, mask = m > 0)
  return y = from_heads(y), dx = grad(sum(from_heads(y) * w), x) * 3
}
entry kept(x : f32[1, 2, 33, 16], w : f32[1, 33, 32]) { # the result is read transposed, and as it is
  y = attention(x * 2, x + 1, x)
  return y = y * 2, z = from_heads(y), d = grad(sum(from_heads(y) * w), x)
}
entry turned(x : f32[19, 3, 20], w : f32[19, 60]) { # positions before heads
  q = transpose(x * 2, [1, 0, 2])
  y = transpose(attention(q, q, q), [1, 0, 2])
  return y, d = grad(sum(reshape(y, [19, 60]) * w), x)
}
entry crossed(x : f32[2, 17, 9], w : f32[2, 17, 3]) { # parts of a row at odd places are copied first
  z = x * 2
  y = attention(z[:, :, :3], z[:, :, 4:7], z[:, :, 6:])
  return y, d = grad(sum(y * w), x)
}
