# gpt.g: a character-level language model, a small transformer
let B = 32                                    # windows of text in a step, at most
let T = 64                                    # characters of a window: the context
let P = T                                     # characters of a prompt, at most
let V = 128                                   # size of the vocabulary: ASCII
let L = 4                                     # layers
let H = 4                                     # heads
let C = 128                                   # width
let drop = 0.1
hyper lr = 1e-3
hyper temperature = 0.8                       # of `write`: higher is more random, 0 takes the likeliest

def known_chars(c) { return min(c, V - 1) }   # other bytes map to the last one

# Rotary position embedding: rotates pairs of elements by angles that grow with the position, so a dot product of two
# rows depends on their distance alone.
def rotate(x : [b, h, t, d], position : f32[t]) {
  speed = exp(f32(iota(d / 2)) * (-2 * 9.210340371976184 / d))  # 10000 ** (-2 i / d)
  angle = reshape(position, [t, 1]) * speed
  u, v = split(x, 2, axis = -1)
  return concat([u * cos(angle) - v * sin(angle), u * sin(angle) + v * cos(angle)], axis = -1)
}

# rotated queries and keys, and values, [b, H, t, C / H] each
def qkv(x : [b, t, c], position) {
  q, k, v = split(linear(x, 3 * C) as qkv, 3, axis = -1)
  return rotate(to_heads(q, H), position), rotate(to_heads(k, H), position), to_heads(v, H)
}

# the keys and values of the last T rows; k and v are those of the rows from `at` on
def remember(k, v, at) {
  state keys : f32[1, H, T, C / H] = zeros()
  state values : f32[1, H, T, C / H] = zeros()
  keys := dynamic_update(keys, k, at, axis = 2)
  values := dynamic_update(values, v, at, axis = 2)
  return keys, values
}

def attend(x, position, cache) {
  q, k, v = qkv(x, position) as heads
  if cache { old, new = remember(k, v, 0) as kv }
  return linear(from_heads(attention(q, k, v, causal = true)), C) as proj
}

# the same for one row at a time, with a KV cache
def attend_next(x, at) {
  q, k, v = qkv(x, reshape(f32(at), [1])) as heads
  keys, values = remember(k, v, at % T) as kv
  return linear(from_heads(attention(q, keys, values, mask = iota(T) <= at)), C) as proj
}

def mlp(x) { return dropout(x |> linear(4 * C) as up |> gelu |> linear(C) as down, drop) }

def text(c : u8[b, t], cache = false) {
  x = embed(known_chars(c), V, C, std = 0.1) as chars
  for l in 0..L {
    scope h[l] {
      x = x + dropout(attend(rmsnorm(x) as n1, f32(iota(t)), cache) as attn, drop)
      x = x + mlp(rmsnorm(x) as n2)
    }
  }
  return linear(rmsnorm(x) as n, V) as out
}

entry train(context : u8[n <= B, T], next : u8[n, T]) {
  loss = mean(xent(text(context) as gpt, known_chars(next)))
  minimize loss with adamw(lr, b2 = 0.99, decay = 0.1, clip = 1)
  return loss
}

entry validate(context : u8[n <= B, T], next : u8[n, T]) {
  logits = text(context) as gpt
  label = known_chars(next)
  return loss = mean(xent(logits, label)), accuracy = mean(argmax(logits) == label)
}

def next_char(c : u8[1, 1], at) {
  x = embed(known_chars(c), V, C, std = 0.1) as chars
  for l in 0..L {
    scope h[l] {
      x = x + attend_next(rmsnorm(x) as n1, at) as attn
      x = x + mlp(rmsnorm(x) as n2)
    }
  }
  return linear(rmsnorm(x) as n, V) as out
}

# A sample of softmax(logits): the maximum of logits plus Gumbel noise, -log(-log(u)). The temperature scales the
# noise, and at 0 the likeliest character is taken.
def sample(logits : f32[v]) {
  return u8(argmax(logits - temperature * log(-log(uniform(1e-7, 1, shape = [v])))))
}

# Reads 1 to P characters at once into the KV cache, and samples the one behind them: `write` goes on from there.
entry prompt(context : u8[1, n <= P]) {
  state last : u8[] = const(10)               # a line's end
  state at : i32[] = zeros()
  fits = P <= T
  char = sample((text(context, cache = true) as gpt)[0, n - 1]) if fits else error("a prompt of {P} characters is longer than T, {T}")
  last := char
  at := i32(n)
  return char
}

# Each run samples one character and keeps it.
entry write() {
  state last : u8[] = const(10)
  state at : i32[] = zeros()
  char = sample((next_char(reshape(last, [1, 1]), at) as gpt)[0, 0])
  last := char
  at := at + 1
  return char
}

# the difference between `write`, row by row, and `train`, all rows at once: 0 up to rounding
entry check(context : u8[1, T]) {
  rows = for t in 0..T { yield (next_char(context[:, t : t + 1], t) as gpt)[:, 0] }
  return difference = max(abs(transpose(rows, [1, 0, 2]) - text(context) as gpt))
}
