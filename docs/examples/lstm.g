# lstm.g: a character-level language model, two LSTM layers
let B = 32                                    # windows of text in a step, at most
let T = 64                                    # characters of a window
let V = 128                                   # size of the vocabulary: ASCII
let D = 64                                    # width of an embedding
let H = 256                                   # width of a layer
hyper lr = 2e-3
hyper temperature = 0.7                       # of `write`: higher is more random, 0 takes the likeliest

def known_chars(c) { return min(c, V - 1) }   # other bytes map to the last one
def embedded(c) { return embed(known_chars(c), V, D) }

# One step of a layer: input gate i, forget gate f, output gate o, candidate g. z is the product with the layer's input,
# which does not depend on h: one product computes it for all steps of a window.
def cell(z, h, c) {
  z = z + linear(h, 4 * H, bias = false) as h
  c = sigmoid(z[:, H : 2 * H]) * c + sigmoid(z[:, 0:H]) * tanh(z[:, 2 * H : 3 * H])
  return sigmoid(z[:, 3 * H :]) * tanh(c), c
}

# a layer over a window, time first
def layer(x : [t, b, d]) {
  z = linear(x, 4 * H) as below
  h, c = zeros([b, H]), zeros([b, H])
  hs = scan i in 0..t {                       # a loop at run time; h and c are carried
    h, c = cell(z[i], h, c) as cell
    yield h
  }
  return hs                                   # f32[t, b, H]
}

def net(chars : u8[t, b]) {
  return linear(layer(layer(embedded(chars)) as l1) as l2, V) as out  # f32[t, b, V]
}

entry train(chars : u8[n <= B, T], next : u8[n, T]) {
  loss = mean(xent(net(chars'), known_chars(next')))
  minimize loss with adamw(lr, clip = 1)
  return loss
}

entry validate(chars : u8[n <= B, T], next : u8[n, T]) {
  return loss = mean(xent(net(chars'), known_chars(next')))
}

def step(x, h, c) { return cell(linear(x, 4 * H) as below, h, c) as cell }

# Each run samples one character and keeps it with the cells of the layers. The maximum of logits plus Gumbel
# noise, -log(-log(u)), is a sample of softmax(logits).
entry write() {
  state last : u8[1] = const(10)              # a line end
  state h1 : f32[1, H] = zeros()
  state c1 : f32[1, H] = zeros()
  state h2 : f32[1, H] = zeros()
  state c2 : f32[1, H] = zeros()
  scope net {
    a, b = step(embedded(last), h1, c1) as l1
    c, d = step(a, h2, c2) as l2
    logits = linear(c, V) as out
  }
  h1 := a
  c1 := b
  h2 := c
  c2 := d
  char = u8(argmax(logits[0] - temperature * log(-log(uniform(1e-7, 1, shape = [V])))))
  last := reshape(char, [1])
  return char
}
