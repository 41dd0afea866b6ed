# vae.g: a variational autoencoder for handwritten digits, which also draws new ones
let N = 64                                    # images of a step, at most
let Z = 16                                    # width of a latent vector
let H = 400
hyper lr = 1e-3

# the latent distribution of an image: means and log-variances
def encode(x) {
  h = relu(linear(x, H) as hidden)
  return linear(h, Z) as mean, linear(h, Z) as logvar
}

def decode(z) { return linear(relu(linear(z, H) as hidden), 784) as pixels }  # logits

# the evidence lower bound: reconstruction loss and KL divergence, in nats
def net(x : f32[n, 784]) {
  mean, logvar = encode(x) as encoder
  z = mean + exp(logvar / 2) * normal(shape = [n, Z])
  rebuilt = 784 * bce(decode(z) as decoder, x)
  kl = sum(exp(logvar) + mean ** 2 - 1 - logvar) / (2 * n)
  return rebuilt, kl
}

entry train(image : u8[n <= N, 784]) {
  rebuilt, kl = net(f32(image) / 255)
  loss = rebuilt + kl
  minimize loss with adam(lr)
  return loss, rebuilt, kl
}

entry validate(image : u8[n <= N, 784]) {
  rebuilt, kl = net(f32(image) / 255)
  return loss = rebuilt + kl, rebuilt, kl
}

def as_bytes(logits) { return u8(round(255 * sigmoid(logits))) }

# reconstruction through the mean of the latent distribution
entry rebuild(image : u8[1, 784]) {
  scope net {
    mean, logvar = encode(f32(image) / 255) as encoder
    y = as_bytes(decode(mean) as decoder)
  }
  return rebuilt = reshape(y, [28, 28])
}

# each run prints another generated digit as text
entry draw() {
  scope net { y = decode(normal(shape = [1, Z])) as decoder }
  ink = reshape(where(y > 0, 35, 32), [28, 28])
  return digit = u8(concat([ink, full([28, 1], 10)], axis = 1))
}
