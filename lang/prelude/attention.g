# ---- attention ----

# reshapes [b, t, heads * d] to [b, heads, t, d]
def to_heads(x : [b, t, c], heads : count) {
  return transpose(reshape(x, [b, t, heads, quotient(c, heads)]), [0, 2, 1, 3])
}
def from_heads(x : [b, heads, t, d]) { return reshape(transpose(x, [0, 2, 1, 3]), [b, t, heads * d]) }

# rotary positions `at`, at + 1, …: rotates elements i and i + d / 2 of each row of x [..., t, d] by position / base ** (2 i / d),
# or by position * frequency[i]
def rope(x : [..., t, d], base = 10000, at = 0, frequency : tensor = none) {
  if frequency == none { frequency = exp(f32(iota(quotient(d, 2))) * (-2 * log(f32(base)) / d)) }
  angle = f32(iota(t) + at)[:, none, none] * frequency
  halves = reshape(x, shape(x)[:-1] + [2, quotient(d, 2)])
  sign = (f32(iota(2)) * 2 - 1)[:, none]      # of a table of its own, which all layers read
  return reshape(halves * cos(angle) + reverse(halves, axis = -2) * sin(angle) * sign, shape(x))
}

# multi-head attention of x to itself, or to `kv` [b, s, e]. kv_heads: so many heads of keys and values, each for a group of
# heads of queries; rotary: positions by rope; mask: bool [t, s] or [b, 1, t, s], true if a query attends to a key
def mha(x : [b, t, c], heads : count, causal : flag = false, bias : flag = true, kv : tensor = none, mask : tensor = none,
        kv_heads : count = none, rotary : flag = false) {
  own = heads if kv_heads == none else kv_heads
  if kv == none and own == heads {
    q, k, v = split(linear(x, 3 * c, bias) as qkv, 3, axis = -1)
  } else {
    q = linear(x, c, bias) as q
    k, v = split(linear(x if kv == none else kv, 2 * own * quotient(c, heads), bias) as kv, 2, axis = -1)
  }
  q, k, v = to_heads(q, heads), to_heads(k, own), to_heads(v, own)
  if rotary { q, k = rope(q), rope(k) }
  if own != heads {                           # a group shares its keys and values without a copy
    q = reshape(q, [b, own, quotient(heads, own), t, c / heads])
    k, v = k[:, :, none], v[:, :, none]
    if mask != none and rank(mask) > 2 { mask = mask[:, :, none] }
  }
  y = reshape(attention(q, k, v, causal, mask = mask), [b, heads, t, c / heads])
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
