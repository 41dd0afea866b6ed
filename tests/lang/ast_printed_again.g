# RUN: %gc --emit=ast %s -o %t.1.g
# RUN: %gc --emit=ast %t.1.g -o %t.2.g
# RUN: cmp %t.1.g %t.2.g
# RUN: FileCheck-14 %s < %t.1.g
# What --emit=ast prints reads back to the same tree, here of three whole programs.

# CHECK: def gpt(tok : i32[B, T]) {
# CHECK: return ((layernorm(x) as ln_f) @ wte')

let N = 128
hyper lr = 0.1
def block(x, out, stride = 1) {
  y = x |> bn as n1 |> relu |> conv(out, 3, stride) as c1
        |> bn as n2 |> relu |> conv(out, 3) as c2
  if stride != 1 or dim(x, 1) != out { x = conv(x, out, 1, stride) as skip }
  return x + y
}
def resnet(x, depth = 3) {
  x = conv(x, 16, 3) as stem
  for s in 0..3 {
    for i in 0..depth { x = block(x, 16 * 2**s, 2 if s > 0 and i == 0 else 1) as stage[s][i] }
  }
  return linear(x |> bn as n |> relu |> global_avg_pool, 10) as head
}
entry train(x : f32[N, 3, 32, 32], t : u8[N]) {
  loss = mean(xent(resnet(x), t))
  minimize loss with sgd(lr, momentum = 0.9, decay = 5e-4)
  return loss
}

let B = 32
let T = 64
let V = 128
let H = 256
def lm(tok : u8[b, t]) {
  x = embed(tok, V, H)
  h = zeros([b, H])
  c = zeros([b, H])
  hs = scan i in 0..t { h, c = lstm(x[:, i], h, c) as cell
                        yield h }                     # [t, b, H]
  return linear(transpose(hs, [1, 0, 2]), V) as out
}

let B = 8  ; let T = 1024                            # ';' may also end a statement
let V = 50257
let L = 12
let H = 12
let C = 768
hyper lr = 6e-4
def heads(x) { return transpose(reshape(x, [B, T, H, C / H]), [0, 2, 1, 3]) }
def attn(x) {
  q, k, v = split(linear(x, 3 * C) as qkv, 3, axis = -1)
  y = attention(heads(q), heads(k), heads(v), causal = true)      # f32[B, H, T, C/H]
  return linear(reshape(transpose(y, [0, 2, 1, 3]), [B, T, C]), C) as proj
}
def mlp(x) { return x |> linear(4 * C) as up |> gelu |> linear(C) as down }
def gpt(tok : i32[B, T]) {
  param wte : f32[V, C] = normal(std = 0.02)
  param wpe : f32[T, C] = normal(std = 0.02)
  x = gather(wte, tok) + wpe
  for l in 0..L {
    scope h[l] {
      x = x + attn(layernorm(x) as ln1)
      x = x + mlp(layernorm(x) as ln2)
    }
  }
  return (layernorm(x) as ln_f) @ wte'
}
entry train(tok : i32[B, T], next : i32[B, T]) {
  loss = mean(xent(gpt(tok), next))
  minimize loss with adamw(lr, b1 = 0.9, b2 = 0.95, decay = 0.1, clip = 1.0)
  return loss
}
