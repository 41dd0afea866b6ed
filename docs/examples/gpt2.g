# gpt2.g: GPT-2, 124 million parameters; names and shapes are those of its published weights:
#   gpt2 loss --tokens ids.npy --next ids.npy --load model.safetensors,scope=gpt
let B = 4                                     # sequences in a step, at most
let T = 64                                    # tokens of a sequence, up to N
let N = 1024                                  # positions
let V = 50257                                 # size of the vocabulary
let L = 12                                    # layers
let H = 12                                    # heads
let C = 768                                   # width
hyper lr = 6e-4

def table(rows, columns) {
  param weight : f32[rows, columns] = normal(std = 0.02)
  return weight
}

def dense(x : [..., d], units, std = 0.02) {
  param weight : f32[d, units] = normal(std = std)
  param bias : f32[units] = zeros()
  return x @ weight + bias
}

def ln(x : [..., d]) {
  param weight : f32[d] = ones()
  param bias : f32[d] = zeros()
  return layer_norm(x) * weight + bias
}

def attn(x) {
  q, k, v = split(dense(x, 3 * C) as c_attn, 3, axis = -1)
  y = attention(to_heads(q, H), to_heads(k, H), to_heads(v, H), causal = true)
  return dense(from_heads(y), C, 0.02 / sqrt(2 * L)) as c_proj
}

def mlp(x) {
  return dense(gelu(dense(x, 4 * C) as c_fc, approx = true), C, 0.02 / sqrt(2 * L)) as c_proj
}

def gpt(tokens : i32[b, t]) {
  wte = table(V, C) as wte
  wpe = table(N, C) as wpe
  x = gather(wte, tokens) + wpe[:t]
  for l in 0..L {
    scope h[l] {
      x = x + attn(ln(x) as ln_1)
      x = x + mlp(ln(x) as ln_2)
    }
  }
  return (ln(x) as ln_f) @ wte'
}

entry train(tokens : i32[n <= B, T], next : i32[n, T]) {
  loss = mean(xent(gpt(tokens), next))
  minimize loss with adamw(lr, b1 = 0.9, b2 = 0.95, decay = 0.1, clip = 1)
  return loss
}

entry loss(tokens : i32[n <= B, T], next : i32[n, T]) { return loss = mean(xent(gpt(tokens), next)) }

entry predict(tokens : i32[1, T]) { return next = argmax(gpt(tokens)) }
