# vae.g: a variational autoencoder puts handwritten digits into a few numbers, and draws new ones
let N = 64                                    # images of a step
let Z = 16                                    # numbers that stand for an image
let H = 400
hyper lr = 1e-3

# where in the space of codes an image lies: means and logarithms of variances
def encode(x) {
  h = relu(linear(x, H) as hidden)
  return linear(h, Z) as mean, linear(h, Z) as logvar
}

def decode(z) { return linear(relu(linear(z, H) as hidden), 784) as pixels }    # logits

# the bound on -log(p(x)): nats of the image that its code leaves open, and nats of the code
def net(x : f32[n, 784]) {
  mean, logvar = encode(x) as encoder
  z = mean + exp(logvar / 2) * normal(shape = [n, Z])
  rebuilt = 784 * bce(decode(z) as decoder, x)
  kl = sum(exp(logvar) + mean ** 2 - 1 - logvar) / (2 * n)
  return rebuilt, kl
}

entry train(image : u8[N, 784]) {
  rebuilt, kl = net(f32(image) / 255)
  loss = rebuilt + kl
  minimize loss with adam(lr)
  return loss, rebuilt, kl
}

entry validate(image : u8[N, 784]) {
  rebuilt, kl = net(f32(image) / 255)
  return loss = rebuilt + kl, rebuilt, kl
}

def as_bytes(logits) { return u8(round(255 * sigmoid(logits))) }

# an image once through its code, without noise
entry rebuild(image : u8[1, 784]) {
  scope net {
    mean, logvar = encode(f32(image) / 255) as encoder
    y = as_bytes(decode(mean) as decoder)
  }
  return rebuilt = reshape(y, [28, 28])
}

# each run is another digit that nobody wrote, as text
entry draw() {
  scope net { y = decode(normal(shape = [1, Z])) as decoder }
  ink = reshape(where(y > 0, 35, 32), [28, 28])
  return digit = u8(concat([ink, full([28, 1], 10)], axis = 1))
}
