# bert.g: BERT and models of its form (MiniLM, BGE). Compile-time values have the names of a published config.json, params those
# of the published weights:
#   gc bert.g -O2 --config=FOLDER/config.json --tokens -o bert
#   bert fill --tokens ids.npy --load FOLDER,without=classifier    # weights of words may have no pooler, either
# A classifier of texts is trained on rows of tokens, padded, and their labels; `classifier.out` begins with random weights:
#   bert tokenize texts.txt --length 128 --tokenizer FOLDER/tokenizer.json -o ids.npy
#   bert train --tokens ids.npy --label labels.npy --load FOLDER,without=classifier.out --epochs 3 --save tuned.safetensors
#   bert classify --tokens ids.npy --load tuned.safetensors
let model_type = "bert"
let N = 8                                     # texts in a step
let T = 128                                   # tokens of a text, at most
let vocab_size = 1024
let hidden_size = 64
let intermediate_size = 4 * hidden_size
let num_hidden_layers = 2
let num_attention_heads = 4
let max_position_embeddings = 512
let type_vocab_size = 2
let pad_token_id = 0
let mask_token_id = 103                       # stands for a word that is to be guessed
let layer_norm_eps = 1e-12
let hidden_act = "gelu"
let hidden_dropout_prob = 0.1
let num_labels = 2                            # of the classifier: a config.json does not tell it
let norm = ["weight", "bias"]                 # older weights: -D 'norm=["gamma","beta"]'
hyper lr = 2e-5

def dense(x : [..., d], units, name) {
  param w : f32[d, units] = normal(std = 0.02) from "{name}.weight"'
  param b : f32[units] = zeros() from "{name}.bias"
  return x @ w + b
}

def normed(x : [..., d], name) {
  scale, shift = norm[0], norm[1]
  param g : f32[d] = ones() from "{name}.{scale}"
  param b : f32[d] = zeros() from "{name}.{shift}"
  return layer_norm(x, layer_norm_eps) * g + b
}

def table(rows, name) {
  param w : f32[rows, hidden_size] = normal(std = 0.02) from "[bert.]embeddings.{name}_embeddings.weight"
  return w
}

def drop(x) { return dropout(x, hidden_dropout_prob) }

def activation(x) {
  if hidden_act != "gelu" and hidden_act != "gelu_new" and hidden_act != "relu" { error("hidden_act is gelu, gelu_new or relu in this program") }
  return relu(x) if hidden_act == "relu" else gelu(x, approx = hidden_act == "gelu_new")
}

# seen: which tokens others attend to, those that are no padding
def attend(x : [b, t, c], seen, name) {
  q = to_heads(dense(x, c, "{name}.self.query") as q, num_attention_heads)
  k = to_heads(dense(x, c, "{name}.self.key") as k, num_attention_heads)
  v = to_heads(dense(x, c, "{name}.self.value") as v, num_attention_heads)
  return dense(from_heads(attention(q, k, v, mask = seen[:, none, none])), c, "{name}.output.dense") as o
}

def layer(x : [b, t, c], seen, name) {
  x = normed(x + drop(attend(x, seen, "{name}.attention") as attn), "{name}.attention.output.LayerNorm") as n1
  y = activation(dense(x, intermediate_size, "{name}.intermediate.dense") as up)
  return normed(x + drop(dense(y, c, "{name}.output.dense") as down), "{name}.output.LayerNorm") as n2
}

# the encoded tokens, and the table of words. kind: of each token the number of its text in a pair; none: there is one text
def bert(tokens : [b, t], kind : tensor = none) {
  if model_type != "bert" { error("model_type {model_type} is not bert: a model with BERT's layers and positions takes -D 'model_type=\"bert\"', another one may come by ONNX") }
  if T > max_position_embeddings { error("T = {T} is beyond the {max_position_embeddings} positions of the model: lower it by -D") }
  words = table(vocab_size, "word") as words
  places = table(max_position_embeddings, "position") as places
  kinds = table(type_vocab_size, "token_type") as kinds
  x = gather(words, tokens) + places[:t] + (kinds[0] if kind == none else gather(kinds, kind))
  x = drop(normed(x, "[bert.]embeddings.LayerNorm") as n)
  for l in 0..num_hidden_layers {
    scope layer[l] { x = layer(x, tokens != pad_token_id, "[bert.]encoder.layer.{l}") as block }
  }
  return x, words
}

def classifier(x) {
  pooled = tanh(dense(x[:, 0], hidden_size, "[bert.]pooler.dense") as pooler)
  return dense(drop(pooled), num_labels, "classifier") as out
}

# logits of the words that a text has at masked places
def words_of(x, words) {
  param b : f32[vocab_size] = zeros() from "cls.predictions.bias"
  y = normed(activation(dense(x, hidden_size, "cls.predictions.transform.dense") as up), "cls.predictions.transform.LayerNorm") as n
  return y @ words' + b
}

entry train(tokens : i32[n <= N, T], label : i32[n]) {
  x, words = bert(tokens)
  logits = classifier(x)
  loss = mean(xent(logits, label))
  minimize loss with adamw(lr, decay = 0.01, clip = 1)
  return loss, accuracy = mean(argmax(logits) == label)
}

# goes on with the first training, on texts of another kind: 15 of 100 tokens are to be guessed, of which a mask hides 80 of 100 and
# another word 10 of 100
entry learn(tokens : i32[n <= N, T]) {
  guessed = uniform(0, 1, shape = [n, T]) < 0.15 and tokens != pad_token_id
  how = uniform(0, 1, shape = [n, T])
  other = i32(uniform(0, vocab_size, shape = [n, T]))
  x, words = bert(where(guessed and how < 0.8, mask_token_id, where(guessed and how < 0.9, other, tokens)))
  each = xent(words_of(x, words) as fill, tokens)
  loss = sum(where(guessed, each, 0)) / max(sum(f32(guessed)), 1)
  minimize loss with adamw(lr, decay = 0.01, clip = 1)
  return loss
}

entry test(tokens : i32[n <= N, t <= T], label : i32[n]) {
  x, words = bert(tokens)
  logits = classifier(x)
  return loss = mean(xent(logits, label)), accuracy = mean(argmax(logits) == label)
}

entry classify(tokens : i32[n <= N, t <= T]) {
  x, words = bert(tokens)
  logits = classifier(x)
  return label = argmax(logits), logits
}

# of a question and an answer, of two sentences: kind is 0 for tokens of the first, 1 for those of the second
entry classify_pair(tokens : i32[n <= N, t <= T], kind : i32[n, t]) {
  x, words = bert(tokens, kind)
  logits = classifier(x)
  return label = argmax(logits), logits
}

entry fill(tokens : i32[n <= N, t <= T]) {
  x, words = bert(tokens)
  logits = words_of(x, words) as fill
  return word = argmax(logits), logits
}

# a vector for each text: the mean of its tokens
entry embed(tokens : i32[n <= N, t <= T]) {
  x, words = bert(tokens)
  seen = f32(tokens != pad_token_id)[:, :, none]
  return vector = sum(x * seen, axis = 1) / max(sum(seen, axis = 1), 1)
}
