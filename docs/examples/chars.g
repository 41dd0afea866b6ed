# chars.g: a character-level language model, a perceptron over the last 16 characters
let B = 128                                   # windows of text in a step, at most
let T = 16                                    # characters of the context
let V = 128                                   # size of the vocabulary: ASCII
let D = 32                                    # width of an embedding
let H = 512                                   # width of the two hidden layers
hyper lr = 1e-3
hyper temperature = 0.7                       # of `write`: higher is more random, 0 takes the likeliest

def known_chars(c) { return min(c, V - 1) }   # other bytes map to the last one

def net(context : u8[n, t]) {
  x = embed(known_chars(context), V, D)       # f32[n, t, D]
  x = reshape(x, [n, t * D])
  x = relu(linear(x, H) as fc1)
  x = relu(linear(x, H) as fc2)
  return linear(x, V) as out
}

entry train(context : u8[n <= B, T], next : u8[n]) {
  loss = mean(xent(net(context), known_chars(next)))
  minimize loss with adamw(lr)
  return loss
}

entry validate(context : u8[n <= B, T], next : u8[n]) {
  logits = net(context)
  label = known_chars(next)
  return loss = mean(xent(logits, label)), accuracy = mean(argmax(logits) == label)
}

# Each run samples one character and keeps it. The maximum of logits plus Gumbel noise, -log(-log(u)),
# is a sample of softmax(logits); the temperature scales the noise, and at 0 the likeliest character is taken.
entry write() {
  state ctx : u8[T] = const(10)               # line ends
  logits = net(reshape(ctx, [1, T]))[0]
  noise = -log(-log(uniform(1e-7, 1, shape = [V])))
  char = u8(argmax(logits + temperature * noise))
  ctx := concat([ctx[1:], reshape(char, [1])])
  return char
}
