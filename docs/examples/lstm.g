# lstm.g: learns to write from any text, with two layers of long short-term memory
let B = 32                                    # windows of text in a step
let T = 64                                    # characters of a window
let V = 128                                   # characters known: ASCII
let D = 64                                    # numbers that stand for a character
let H = 256                                   # width of a layer
hyper lr = 2e-3
hyper temperature = 0.7                       # of `write`: low is careful, high is bold

def known_chars(c) { return min(c, V - 1) }   # a byte that is not ASCII counts as the last one
def embedded(c) { return embed(known_chars(c), V, D) }

# one step of a layer: the gates i, f, o let in, keep, and let out; g is what may come in. z is what
# comes from the layer below, which does not wait for h: all steps of a window share one product.
def cell(z, h, c) {
  z = z + linear(h, 4 * H, bias = false) as h
  c = sigmoid(z[:, H:2 * H]) * c + sigmoid(z[:, 0:H]) * tanh(z[:, 2 * H:3 * H])
  return sigmoid(z[:, 3 * H:]) * tanh(c), c
}

# a layer over a window, time first
def layer(x : [t, b, d]) {
  z = linear(x, 4 * H) as below
  h, c = zeros([b, H]), zeros([b, H])
  hs = scan i in 0..t {                       # one loop in the program: what it changes is carried
    h, c = cell(z[i], h, c) as cell
    yield h
  }
  return hs                                   # f32[t, b, H]
}

def net(chars : u8[t, b]) {
  return linear(layer(layer(embedded(chars)) as l1) as l2, V) as out      # f32[t, b, V]
}

entry train(chars : u8[B, T], next : u8[B, T]) {
  loss = mean(xent(net(chars'), known_chars(next')))
  minimize loss with adamw(lr, clip = 1)
  return loss
}

entry validate(chars : u8[B, T], next : u8[B, T]) {
  return loss = mean(xent(net(chars'), known_chars(next')))
}

def step(x, h, c) { return cell(linear(x, 4 * H) as below, h, c) as cell }

# Each run draws one character and remembers it, and what the layers held: the same step, one at a
# time. The largest of logits + noise, where the noise is -log(-log(u)), is a draw from the softmax.
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
  char = u8(argmax(logits[0] / temperature - log(-log(uniform(1e-7, 1, shape = [V])))))
  last := reshape(char, [1])
  return char
}
