# resnet20.g: a residual net for small colour images, as in CIFAR-10 (He et al., 2016, section 4.2, with
# the activations before the convolutions). Images are bytes [N, 3 * 32 * 32], plane after plane.
let N = 128                                   # images of a step
let S = 32                                    # rows and columns of an image
let depth = 3                                 # blocks of a stage: 6 depth + 2 layers
let width = 16                                # channels of the first stage
hyper lr = 0.1

# two convolutions with a skip connection; stride 2 halves the image
def block(x, out, stride = 1) {
  y = x |> bn as n1 |> relu
  skip = conv(y, out, 1, stride, bias = false) as skip if stride != 1 or dim(x, 1) != out else x
  y = conv(y, out, 3, stride, bias = false) as c1
  return skip + (y |> bn as n2 |> relu |> conv(out, 3, bias = false) as c2)
}

def net(image : u8[n, 3 * S * S]) {
  x = reshape(f32(image) / 127.5 - 1, [n, 3, S, S])
  x = conv(x, width, 3, bias = false) as stem
  for s in 0..3 {
    for i in 0..depth { x = block(x, width * 2 ** s, 2 if s > 0 and i == 0 else 1) as stage[s][i] }
  }
  return linear(x |> bn as n |> relu |> global_avg_pool, 10) as head
}

entry train(image : u8[n <= N, 3 * S * S], label : u8[n]) {
  logits = net(image)
  loss = mean(xent(logits, label))
  minimize loss with sgd(lr, momentum = 0.9, decay = 5e-4)
  return loss, accuracy = mean(argmax(logits) == label)
}

entry test(image : u8[n <= N, 3 * S * S], label : u8[n]) {
  return accuracy = mean(argmax(net(image)) == label)
}
