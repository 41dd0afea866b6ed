# seq2seq.g: an LSTM encoder and decoder with attention, which restores the vowels of a text
let B = 32                                    # windows of text in a step
let T = 32                                    # characters of a window
let V = 128                                   # size of the vocabulary: ASCII
let D = 32                                    # width of an embedding
let H = 128                                   # width of a layer
let vowels = [65, 69, 73, 79, 85, 97, 101, 105, 111, 117]  # AEIOUaeiou
hyper lr = 3e-3

def known_chars(c) { return i32(min(c, V - 1)) }  # other bytes map to the last one

# the encoder's input: every vowel is an underscore
def without_vowels(c) {
  lost = c == vowels[0]
  for i in 1..len(vowels) { lost = lost or c == vowels[i] }
  return where(lost, 95, c)
}

# a bidirectional LSTM: each character with its context on both sides
def encode(c : i32[b, t]) {
  x = embed(c, V, D) as chars
  h, k = zeros([b, H]), zeros([b, H])
  before = scan i in 0..t {
    h, k = lstm(x[:, i], h, k) as forth
    yield h
  }
  h, k = zeros([b, H]), zeros([b, H])
  behind = scan i in 0..t {
    h, k = lstm(x[:, t - 1 - i], h, k) as back
    yield h
  }
  return transpose(concat([before, reverse(behind, axis = 0)], axis = -1), [1, 0, 2])  # [b, t, 2 * H]
}

# one character, from the previous one and by attention over the encoder's output
def decode(c, h, k, seen : [b, t, w]) {
  h, k = lstm(embed(c, V, D) as chars, h, k) as cell
  look = softmax(einsum("btw,bw->bt", seen, linear(h, w, bias = false) as query))
  found = einsum("bt,btw->bw", look, seen)
  out = tanh(linear(concat([h, found], axis = -1), H) as mix)
  return h, k, linear(out, V) as out
}

# the loss with teacher forcing
def net(chars : u8[b, t]) {
  c = known_chars(chars)
  seen = encode(without_vowels(c)) as encoder
  last, h, k = full([b], 32), zeros([b, H]), zeros([b, H])
  loss, hit = zeros([]), zeros([])
  scan i in 0..t {
    h, k, logits = decode(last, h, k, seen) as decoder
    last = c[:, i]
    loss = loss + mean(xent(logits, last)) / t
    hit = hit + mean(argmax(logits) == last) / t
  }
  return loss, hit
}

entry train(chars : u8[n <= B, T]) {
  loss, hit = net(chars)
  minimize loss with adam(lr, clip = 1)
  return loss, accuracy = hit
}

entry validate(chars : u8[n <= B, T]) {
  loss, hit = net(chars)
  return loss, accuracy = hit
}

# autoregressive decoding: each step reads the decoder's previous output
entry restore(chars : u8[1, T]) {
  scope net {
    seen = encode(without_vowels(known_chars(chars))) as encoder
    last, h, k = full([1], 32), zeros([1, H]), zeros([1, H])
    written = scan i in 0..T {
      h, k, logits = decode(last, h, k, seen) as decoder
      last = argmax(logits)
      yield last
    }
  }
  return seen = u8(without_vowels(known_chars(chars)))[0], written = u8(written)[:, 0]
}
