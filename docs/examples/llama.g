# llama.g: language models of LLaMA's form (LLaMA 2 and 3, TinyLlama, Mistral, SmolLM 1 to 3, Qwen 2, 2.5 and 3, Phi-3).
# Compile-time values have the names of a published config.json, params those of the published weights:
#   gc llama.g -O2 --config=FOLDER/config.json -D P=512 -o llama
#   llama next --tokens ids.npy --load FOLDER --logits logits.npy
#   gc llama.g -O2 --config=FOLDER/config.json -D P=64 --tokens -o llama
#   llama chat --load FOLDER --prompt 'Once upon a time'
# Instructions are learned by `tune`, with adapters of low rank beside frozen weights:
#   gc llama.g -O2 --config=FOLDER/config.json -D r=8 -D T=512 --tokens -o llama
#   llama tokenize tasks.jsonl --tokenizer FOLDER/tokenizer.json -o tasks.npy --mask mask.npy
#   llama tune --tokens tasks.npy~512 --next tasks.npy+1~512 --learned mask.npy+1~512 --load FOLDER,without=*.lora
#              --epochs 3 --save adapter.safetensors,scope=*.lora
let B = 2                                     # texts in a training step
let T = 64                                    # tokens of each of them
let P = T                                     # tokens of a text to read, at most
let S = max(P, min(2048, max_position_embeddings))  # tokens of a chat: what is read and what is written
let model_type = "llama"                      # what a config.json does not say otherwise
let vocab_size = 256
let hidden_size = 64
let intermediate_size = 192
let num_hidden_layers = 2
let num_attention_heads = 4
let num_key_value_heads = num_attention_heads  # fewer: each serves a group of heads
let head_dim = hidden_size // num_attention_heads
let rms_norm_eps = 1e-6
let rope_theta = 10000
let type = "default"
let rope_type = type                          # longer texts than in training: "linear", "llama3", "yarn"
let factor = 1.0                              # … so many times as long
let low_freq_factor = 1.0                     # of llama3: frequencies of fewer turns are divided, of more stay
let high_freq_factor = 4.0
let beta_fast = 32.0                          # of yarn: the same, the other way round
let beta_slow = 1.0
let max_position_embeddings = 2048
let original_max_position_embeddings = max_position_embeddings
let hidden_act = "silu"
let tie_word_embeddings = false               # the last layer is the table of embeddings
let attention_bias = model_type == "qwen2"    # q, k and v have biases, as o has, but in Qwen 2 and 2.5
let mlp_bias = false
let qk_norm = model_type == "qwen3"           # each head of queries and keys is normed
let fused = model_type == "phi3"              # q, k and v lie in one matrix, and gate and up
let use_sliding_window = model_type == "mistral" or model_type == "phi3"
let max_window_layers = 0                     # with use_sliding_window: layers from this one on …
let sliding_window = 0                        # … attend to so many tokens, or to all where this is 0
let layer_types = []                          # which says the same layer by layer, if it is not empty
let no_rope_layers = []                       # of each layer whether it turns queries and keys by their positions, 1 or 0
let r = 0                                     # the rank of adapters (LoRA); 0: all weights are trained. Names of PEFT's …
let lora_alpha = 16                           # … adapter_config.json, which is another --config
let lora_dropout = 0.0
let target_modules = ["q_proj", "v_proj"]     # layers that have adapters
hyper lr = 3e-4

def is_in(name, names) {
  found = false
  for i in 0..len(names) { found = found or names[i] == name }
  return found
}

def words(names) {
  text = names[0]
  for i in 1..len(names) {
    name = names[i]
    text = "{text}, {name}"
  }
  return text
}

def has_adapter(module) { return r > 0 and is_in(module, target_modules) }

# What a config.json or -D may have wrong, which would not show otherwise
def check() {
  kinds = ["llama", "mistral", "smollm3", "qwen2", "qwen3", "phi3"]
  if not is_in(model_type, kinds) {
    known = words(kinds)
    error("model_type {model_type} is none of {known}: a model with the layers of one of them takes -D 'model_type=\"llama\"', another one may come by ONNX")
  }
  if r < 0 { error("r is the rank of adapters, or 0, not {r}") }
  layers = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"]
  if not fused { layers = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head"] }
  for i in 0..len(target_modules) {
    module = target_modules[i]
    known = words(layers)
    if r > 0 and not is_in(module, layers) { error("target_modules: {module} is none of the layers {known}") }
  }
  if T > max_position_embeddings or P > max_position_embeddings or S > max_position_embeddings {
    error("T = {T}, P = {P} or S = {S} is beyond the {max_position_embeddings} positions of the model: lower it, or raise max_position_embeddings by -D")
  }
}

# module: its name in the block `at`, or at the top. merge: an adapter becomes part of w
def dense(x : [..., d], units, module, at = none, bias = false, merge = false) {
  name = module
  if at != none { name = "{at}.{module}" }
  param w : f32[d, units] = normal(std = 0.02) from "{name}.weight"'
  adapted = has_adapter(module)
  if adapted and merge { w := w + low_rank(x, units, r, lora_alpha, name = name, merge = true) as lora }
  y = x @ w
  if adapted and not merge { y = y + low_rank(x, units, r, lora_alpha, lora_dropout, name) as lora }
  if bias {
    param b : f32[units] = zeros() from "{name}.bias"
    y = y + b
  }
  return y
}

def norm(x : [..., d], name) {
  param g : f32[d] = ones() from "{name}.weight"
  return rms_norm(x, rms_norm_eps) * g
}

# The angle of a step of one token, of each pair of elements: those of slow turns are divided by the factor
def frequencies() {
  i = f32(iota(head_dim // 2))
  plain = exp(i * (-2 * log(f32(rope_theta)) / head_dim))
  if rope_type == "default" { return plain }
  if rope_type == "linear" { return plain / factor }
  turns = plain * (original_max_position_embeddings / 6.283185307179586)  # in the length of training
  if rope_type == "llama3" {
    kept = min(max((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0), 1)
  } else if rope_type == "yarn" {
    scale = head_dim / (2 * log(f32(rope_theta)))
    first = max(floor(scale * log(f32(original_max_position_embeddings / (beta_fast * 6.283185307179586)))), 0)
    last = min(-floor(-scale * log(f32(original_max_position_embeddings / (beta_slow * 6.283185307179586)))), head_dim - 1)
    kept = 1 - min(max((i - first) / max(last - first, 0.001), 0), 1)
  } else {
    error("rope_type is one of default, linear, llama3, yarn")
  }
  return plain * (kept + (1 - kept) / factor)
}

# queries or keys, turned by their positions
def turned(x, at) {
  y = rope(x, at = 0 if at == none else at, frequency = frequencies())
  if rope_type == "yarn" { return y * (0.1 * log(f32(factor)) + 1) }
  return y
}

# so many tokens, itself included, does a token of layer l attend to; 0: to all before it
def window(l) {
  slides = use_sliding_window and l >= max_window_layers
  if len(layer_types) > 0 { slides = layer_types[l] == "sliding_attention" }
  return sliding_window if slides and sliding_window < max(S, T) else 0  # no text here is longer
}

def heads(x, n) { return transpose(reshape(x, [dim(x, 0), dim(x, 1), n, head_dim]), [0, 2, 1, 3]) }

# the keys and values of a chat so far; k and v are those of the tokens from `at` on
def remember(k, v, at) {
  transient state keys : f32[1, num_key_value_heads, S, head_dim] = zeros()
  transient state values : f32[1, num_key_value_heads, S, head_dim] = zeros()
  keys := dynamic_update(keys, k, at, axis = 2)
  values := dynamic_update(values, v, at, axis = 2)
  return keys, values
}

def queries_keys_values(x, name, merge) {
  q, k = num_attention_heads * head_dim, num_key_value_heads * head_dim
  if fused {
    y = dense(x, q + 2 * k, "qkv_proj", name, attention_bias, merge) as qkv
    return heads(y[..., :q], num_attention_heads), heads(y[..., q : q + k], num_key_value_heads), heads(y[..., q + k :], num_key_value_heads)
  }
  return heads(dense(x, q, "q_proj", name, attention_bias, merge) as q, num_attention_heads),
      heads(dense(x, k, "k_proj", name, attention_bias, merge) as k, num_key_value_heads),
      heads(dense(x, k, "v_proj", name, attention_bias, merge) as v, num_key_value_heads)
}

# at: the first of the tokens is so far behind those that are in the cache; none: there is no cache
def attend(x : [b, t, c], name, l, at : tensor = none, merge = false) {
  q, k, v = queries_keys_values(x, name, merge)
  if qk_norm { q, k = (norm(q, "{name}.q_norm") as q_norm), (norm(k, "{name}.k_norm") as k_norm) }
  if len(no_rope_layers) == 0 or no_rope_layers[l] != 0 { q, k = turned(q, at), turned(k, at) }
  if at != none { k, v = remember(k, v, at) as cache }
  q = reshape(q, [b, num_key_value_heads, num_attention_heads // num_key_value_heads, t, head_dim])
  k, v = k[:, :, none], v[:, :, none]
  if at == none and window(l) == 0 {
    y = attention(q, k, v, causal = true)
  } else {
    place, key = (iota(t) + (0 if at == none else at))[:, none], iota(dim(k, 3))
    y = attention(q, k, v, mask = key <= place if window(l) == 0 else key <= place and key > place - window(l))
  }
  has_bias = attention_bias and model_type != "qwen2"
  return dense(from_heads(reshape(y, [b, num_attention_heads, t, head_dim])), c, "o_proj", name, has_bias, merge) as o
}

def mlp(x : [b, t, c], name, merge = false) {
  if hidden_act != "silu" { error("hidden_act is silu in this program") }
  if fused {
    y = dense(x, 2 * intermediate_size, "gate_up_proj", name, mlp_bias, merge) as gate_up
    y = silu(y[..., :intermediate_size]) * y[..., intermediate_size:]
  } else {
    y = silu(dense(x, intermediate_size, "gate_proj", name, mlp_bias, merge) as gate)
    y = y * (dense(x, intermediate_size, "up_proj", name, mlp_bias, merge) as up)
  }
  return dense(y, c, "down_proj", name, mlp_bias, merge) as down
}

def llama(tokens : [b, t], at : tensor = none, merge = false, last = false) {
  check()
  param embeddings : f32[vocab_size, hidden_size] = normal(std = 0.02) from "[model.]embed_tokens.weight"
  x = gather(embeddings, tokens)
  for l in 0..num_hidden_layers {
    scope layers[l] {
      x = x + attend(norm(x, "[model.]layers.{l}.input_layernorm") as n1, "[model.]layers.{l}.self_attn", l, at, merge) as attn
      x = x + mlp(norm(x, "[model.]layers.{l}.post_attention_layernorm") as n2, "[model.]layers.{l}.mlp", merge) as mlp
    }
  }
  if last { x = x[:, t - 1] }                 # only the token that follows the last one is asked for
  x = norm(x, "[model.]norm") as n
  if tie_word_embeddings { return x @ embeddings' }
  return dense(x, vocab_size, "lm_head") as out
}

entry train(tokens : i32[n <= B, T], next : i32[n, T]) {
  loss = mean(xent(llama(tokens), next))
  minimize loss with adamw(lr, b2 = 0.95, decay = 0.1, clip = 1)
  return loss
}

# learned: 1 where the token in `next` is one that an answer has, 0 where it is the user's, or padding
entry tune(tokens : i32[n <= B, T], next : i32[n, T], learned : u8[n, T]) {
  each = xent(llama(tokens), next)
  answers = f32(learned)
  loss = sum(each * answers) / max(sum(answers), 1)
  minimize loss with adamw(lr, decay = 0, clip = 1), only = "*.lora" if r > 0 else "*"
  return loss
}

# makes adapters a part of the weights: --load FOLDER --load adapter.safetensors --save merged.safetensors,without=*.lora
entry merge() {
  unused = llama(zeros([1, 1], i32), merge = true)
  if r == 0 { return adapters = zeros([], i32) }
}

entry loss(tokens : i32[1, t <= P], next : i32[1, t]) { return loss = mean(xent(llama(tokens), next)) }

# the distribution of the token that follows
entry next(tokens : i32[1, t <= P]) {
  logits = llama(tokens, last = true)
  return token = argmax(logits), logits
}

# The same of tokens that follow on `at` others, whose keys and values are kept: `chat` calls it. room: tokens that may follow
entry read(tokens : i32[1, t <= P], at : i32[]) {
  logits = llama(tokens, at, last = true)
  return logits, room = S - at - t
}
