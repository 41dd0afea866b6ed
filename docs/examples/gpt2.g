# gpt2.g: GPT-2, 124 million parameters; names and shapes are those of its published weights:
#   gpt2 loss --tokens ids.npy --next ids.npy --load model.safetensors
#   gc gpt2.g -O2 --config=FOLDER/config.json -D S=1024 --tokens -o gpt2
#   gpt2 chat --load FOLDER --prompt 'Once upon a time'
let vocab_size = 50257                        # of a published config.json
let n_positions = 1024
let n_layer = 12
let n_head = 12
let n_embd = 768
let activation_function = "gelu_new"
let layer_norm_epsilon = 1e-5
let B = 4                                     # sequences in a step, at most
let T = 64                                    # tokens of a sequence, up to N
let P = T                                     # tokens of a text that `read` takes at once, at most
let S = max(P, T)                             # tokens of a chat: what is read and what is written, up to N
let N = n_positions                           # positions
let V = vocab_size                            # size of the vocabulary
let L = n_layer                               # layers
let H = n_head                                # heads
let C = n_embd                                # width
let n_inner = 4 * C                           # between the layers of the mlp
hyper lr = 6e-4

# name: in published weights, which have "transformer." in front of it where a head is behind the model
def table(rows, columns, name) {
  param weight : f32[rows, columns] = normal(std = 0.02) from "[transformer.]{name}.weight"
  return weight
}

def dense(x : [..., d], units, name, std = 0.02) {
  param weight : f32[d, units] = normal(std = std) from "[transformer.]{name}.weight"
  param bias : f32[units] = zeros() from "[transformer.]{name}.bias"
  return x @ weight + bias
}

def ln(x : [..., d], name) {
  param weight : f32[d] = ones() from "[transformer.]{name}.weight"
  param bias : f32[d] = zeros() from "[transformer.]{name}.bias"
  return layer_norm(x, layer_norm_epsilon) * weight + bias
}

# the keys and values of a chat so far; k and v are those of the tokens from `at` on
def remember(k, v, at) {
  transient state keys : f32[1, H, S, C // H] = zeros()
  transient state values : f32[1, H, S, C // H] = zeros()
  keys := dynamic_update(keys, k, at, axis = 2)
  values := dynamic_update(values, v, at, axis = 2)
  return keys, values
}

# at: the tokens in the cache; none: there is no cache
def attn(x : [b, t, c], name, at : tensor = none) {
  q, k, v = split(dense(x, 3 * C, "{name}.c_attn") as c_attn, 3, axis = -1)
  q, k, v = to_heads(q, H), to_heads(k, H), to_heads(v, H)
  if at == none {
    y = attention(q, k, v, causal = true)
  } else {
    keys, values = remember(k, v, at) as cache
    y = attention(q, keys, values, mask = iota(S) <= (iota(t) + at)[:, none])
  }
  return dense(from_heads(y), C, "{name}.c_proj", 0.02 / sqrt(2 * L)) as c_proj
}

def mlp(x, name) {
  if activation_function != "gelu_new" { error("activation_function is gelu_new in this program") }
  return dense(gelu(dense(x, n_inner, "{name}.c_fc") as c_fc, approx = true), C, "{name}.c_proj", 0.02 / sqrt(2 * L)) as c_proj
}

def gpt(tokens : i32[b, t], at : tensor = none) {
  if S > N { error("a chat of S = {S} tokens is beyond the {N} positions of the model") }
  wte = table(V, C, "wte") as wte
  wpe = table(N, C, "wpe") as wpe
  x = gather(wte, tokens) + (wpe[:t] if at == none else gather(wpe, iota(t) + at))
  for l in 0..L {
    scope h[l] {
      x = x + attn(ln(x, "h.{l}.ln_1") as ln_1, "h.{l}.attn", at)
      x = x + mlp(ln(x, "h.{l}.ln_2") as ln_2, "h.{l}.mlp")
    }
  }
  if at != none { x = x[:, t - 1] }           # only the token that follows the last one is asked for
  return (ln(x, "ln_f") as ln_f) @ wte'
}

entry train(tokens : i32[n <= B, T], next : i32[n, T]) {
  loss = mean(xent(gpt(tokens), next))
  minimize loss with adamw(lr, b1 = 0.9, b2 = 0.95, decay = 0.1, clip = 1)
  return loss
}

entry loss(tokens : i32[n <= B, T], next : i32[n, T]) { return loss = mean(xent(gpt(tokens), next)) }

entry predict(tokens : i32[1, T]) { return next = argmax(gpt(tokens)) }

# What follows tokens that come behind `at` others, whose keys and values are kept: `chat` calls it. room: tokens that may follow
entry read(tokens : i32[1, t <= P], at : i32[]) { return logits = gpt(tokens, at), room = S - at - t }
