# dcgan.g: a generative adversarial net (DCGAN) for handwritten digits
let N = 64                                    # images of a step, at most
let Z = 64                                    # width of a latent vector
let C = 32                                    # channels of the images of 14 x 14
hyper lr = 2e-4

def generator(z : f32[n, d]) {
  x = reshape(linear(z, 2 * C * 49, bias = false) as seed, [n, 2 * C, 7, 7])
  x = x |> bn as n1 |> relu |> conv_transpose(C, 4, stride = 2, pad = 1, bias = false) as up1
  x = x |> bn as n2 |> relu |> conv_transpose(1, 4, stride = 2, pad = 1) as up2
  return tanh(x)                              # f32[n, 1, 28, 28], black is -1
}

# a logit: positive for a real image
def critic(x : f32[n, 1, 28, 28]) {
  x = x |> conv(C, 4, stride = 2, pad = 1) as c1 |> leaky_relu(0.2)
  x = x |> conv(2 * C, 4, stride = 2, pad = 1, bias = false) as c2 |> bn as n2 |> leaky_relu(0.2)
  return (x |> flatten |> linear(1) as out)[:, 0]
}

entry train(image : u8[n <= N, 784]) {
  real = reshape(f32(image) / 127.5 - 1, [n, 1, 28, 28])
  fake = generator(normal(shape = [n, Z])) as generator
  a = critic(real) as critic
  b = critic(fake) as critic shared
  critic_loss = bce(a, 1) + bce(b, 0)
  minimize critic_loss with adam(lr, b1 = 0.5, only = "critic")
  loss = bce(critic(fake) as critic shared, 1)  # reads the updated critic
  minimize loss with adam(lr, b1 = 0.5, only = "generator")
  return loss, critic_loss, real_found = mean(a > 0), fake_found = mean(b < 0)
}

# each run prints another digit as text
entry draw() {
  y = generator(normal(shape = [1, Z])) as generator
  ink = reshape(where(y > 0, 35, 32), [28, 28])
  return digit = u8(concat([ink, full([28, 1], 10)], axis = 1))
}
