# vit.g: vision transformers of ViT's form. Compile-time values have the names of a published config.json, params those of the
# published weights:
#   gc vit.g -O2 --images --config=FOLDER/config.json -D num_labels=1000 -o vit
#   vit classify --image photo.jpg --load FOLDER
# Other classes: the head begins with random weights, `classifier` is not read:
#   gc vit.g -O2 --images --config=FOLDER/config.json -D num_labels=10 -o vit
#   vit train --image FLOWERS --load FOLDER,without=classifier --epochs 3 --save tuned.safetensors
let N = 8                                     # images in a step
let image_size = 32
let patch_size = 8
let num_channels = 3
let hidden_size = 64
let intermediate_size = 4 * hidden_size
let num_hidden_layers = 2
let num_attention_heads = 4
let layer_norm_eps = 1e-12
let hidden_act = "gelu"
let hidden_dropout_prob = 0.0
let qkv_bias = true
let num_labels = 10                           # a config.json does not tell it
let image_mean = 0.5                          # of the pixels, in 0 to 1: that of preprocessor_config.json
let image_std = 0.5
hyper lr = 1e-4

let across = image_size // patch_size
let places = across * across + 1              # patches, and the class

def dense(x : [..., d], units, name, bias = true) {
  param w : f32[d, units] = normal(std = 0.02) from "{name}.weight"'
  y = x @ w
  if bias {
    param b : f32[units] = zeros() from "{name}.bias"
    y = y + b
  }
  return y
}

def normed(x : [..., d], name) {
  param g : f32[d] = ones() from "{name}.weight"
  param b : f32[d] = zeros() from "{name}.bias"
  return layer_norm(x, layer_norm_eps) * g + b
}

def drop(x) { return dropout(x, hidden_dropout_prob) }

# each patch as a row
def patches(x : [n, c, h, w]) {
  param w : f32[hidden_size, num_channels, patch_size, patch_size] = normal(std = 0.02) from "[vit.]embeddings.patch_embeddings.projection.weight"
  param b : f32[hidden_size] = zeros() from "[vit.]embeddings.patch_embeddings.projection.bias"
  y = conv2d(x, w, stride = patch_size)
  return transpose(reshape(y, [n, hidden_size, across * across]), [0, 2, 1]) + b
}

def attend(x : [b, t, c], name) {
  q = to_heads(dense(x, c, "{name}.attention.query", qkv_bias) as q, num_attention_heads)
  k = to_heads(dense(x, c, "{name}.attention.key", qkv_bias) as k, num_attention_heads)
  v = to_heads(dense(x, c, "{name}.attention.value", qkv_bias) as v, num_attention_heads)
  return dense(from_heads(attention(q, k, v)), c, "{name}.output.dense") as o
}

def mlp(x : [b, t, c], name) {
  if hidden_act != "gelu" { error("hidden_act is gelu in this program") }
  return dense(gelu(dense(x, intermediate_size, "{name}.intermediate.dense") as up), c, "{name}.output.dense") as down
}

def vit(image : [n, c, h, w]) {
  param class : f32[1, 1, hidden_size] = normal(std = 0.02) from "[vit.]embeddings.cls_token"
  param position : f32[1, places, hidden_size] = normal(std = 0.02) from "[vit.]embeddings.position_embeddings"
  x = patches((f32(image) / 255 - image_mean) / image_std) as patches
  x = drop(concat([broadcast(class, [n, 1, hidden_size]), x], axis = 1) + position)
  for l in 0..num_hidden_layers {
    scope layer[l] {
      name = "[vit.]encoder.layer.{l}"
      x = x + drop(attend(normed(x, "{name}.layernorm_before") as n1, "{name}.attention") as attn)
      x = x + drop(mlp(normed(x, "{name}.layernorm_after") as n2, name) as mlp)
    }
  }
  return normed(x, "[vit.]layernorm") as n
}

def classifier(x) { return dense(x[:, 0], num_labels, "classifier") as out }

entry train(image : u8[n <= N, num_channels, image_size, image_size], label : i32[n]) {
  logits = classifier(vit(image))
  loss = mean(xent(logits, label))
  minimize loss with adamw(lr, decay = 0.01, clip = 1)
  return loss, accuracy = mean(argmax(logits) == label)
}

entry test(image : u8[n <= N, num_channels, image_size, image_size], label : i32[n]) {
  logits = classifier(vit(image))
  return loss = mean(xent(logits, label)), accuracy = mean(argmax(logits) == label)
}

entry classify(image : u8[n <= N, num_channels, image_size, image_size]) {
  logits = classifier(vit(image))
  return label = argmax(logits), logits
}
