# ---- attention ----

# reshapes [b, t, heads * d] to [b, heads, t, d]
def to_heads(x : [b, t, c], heads : count) {
  return transpose(reshape(x, [b, t, heads, quotient(c, heads)]), [0, 2, 1, 3])
}
def from_heads(x : [b, heads, t, d]) { return reshape(transpose(x, [0, 2, 1, 3]), [b, t, heads * d]) }

# multi-head self-attention
def mha(x : [b, t, c], heads : count, causal : flag = false, bias : flag = true) {
  q, k, v = split(linear(x, 3 * c, bias) as qkv, 3, axis = -1)
  y = attention(to_heads(q, heads), to_heads(k, heads), to_heads(v, heads), causal)
  return linear(from_heads(y), c, bias) as proj
}

# one step of multi-head self-attention with a KV cache: x is row number `at`, and attends to itself and all rows
# before it; the cache holds keys and values of up to `most` rows
def mha_step(x : [b, 1, c], heads : count, at, most : count, bias : flag = true) {
  q, k, v = split(linear(x, 3 * c, bias) as qkv, 3, axis = -1)
  state keys : f32[b, heads, most, quotient(c, heads)] = zeros()
  state values : f32[b, heads, most, quotient(c, heads)] = zeros()
  keys := dynamic_update(keys, to_heads(k, heads), at, axis = 2)
  values := dynamic_update(values, to_heads(v, heads), at, axis = 2)
  y = attention(to_heads(q, heads), keys, values, mask = iota(most) <= at)
  return linear(from_heads(y), c, bias) as proj
}
