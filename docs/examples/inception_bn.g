# inception_bn.g: Inception with batch norms for ImageNet (Ioffe and Szegedy, 2015). Images are bytes
# [N, 3 * S * S], plane after plane.
let N = 32                                    # images of a step, at most
let S = 224                                   # rows and columns of an image
let classes = 1000
let width = 1                                 # factor of all channels; 0.5 makes a slim net
hyper lr = 0.05

def cbr(x, out, k = 1, stride = 1, pad = 0) {
  return x |> conv(out * width, k, stride, pad, bias = false) |> bn |> relu
}

# four parallel branches; the last one is average or max pooling
def mixed(x, n1, r3, n3, rd, nd, np, largest = false) {
  a = cbr(x, n1) as a1
  b = cbr(x, r3) as b1 |> cbr(n3, 3, pad = 1) as b2
  c = cbr(x, rd) as c1 |> cbr(nd, 3, pad = 1) as c2 |> cbr(nd, 3, pad = 1) as c3
  d = max_pool(x, 3, 1, pad = 1) if largest else avg_pool(x, 3, 1, pad = 1)
  return concat([a, b, c, cbr(d, np) as d1], axis = 1)
}

# three branches that halve the image
def halved(x, r3, n3, rd, nd) {
  b = cbr(x, r3) as b1 |> cbr(n3, 3, 2, pad = 1) as b2
  c = cbr(x, rd) as c1 |> cbr(nd, 3, pad = 1) as c2 |> cbr(nd, 3, 2, pad = 1) as c3
  return concat([b, c, max_pool(x, 3, 2, pad = dim(x, 2) % 2, ceil = true)], axis = 1)
}

def net(image : u8[n, 3 * S * S]) {
  x = reshape(f32(image) / 127.5 - 1, [n, 3, S, S])
  x = x |> cbr(64, 7, 2, pad = 3) as s1 |> max_pool(3, 2, ceil = true)
  x = x |> cbr(64) as s2 |> cbr(192, 3, pad = 1) as s3 |> max_pool(3, 2, ceil = true)
  x = x |> mixed(64, 64, 64, 64, 96, 32) as m3a |> mixed(64, 64, 96, 64, 96, 64) as m3b
  x = x |> halved(128, 160, 64, 96) as m3c
  x = x |> mixed(224, 64, 96, 96, 128, 128) as m4a |> mixed(192, 96, 128, 96, 128, 128) as m4b
  x = x |> mixed(160, 128, 160, 128, 160, 128) as m4c |> mixed(96, 128, 192, 160, 192, 128) as m4d
  x = x |> halved(128, 192, 192, 256) as m4e
  x = x |> mixed(352, 192, 320, 160, 224, 128) as m5a
  x = x |> mixed(352, 192, 320, 192, 224, 128, largest = true) as m5b
  return linear(global_avg_pool(x), classes) as head
}

entry train(image : u8[n <= N, 3 * S * S], label : i32[n]) {
  logits = net(image)
  loss = mean(xent(logits, label))
  minimize loss with sgd(lr, momentum = 0.9, decay = 1e-4)
  return loss, accuracy = mean(argmax(logits) == label)
}

entry test(image : u8[n <= N, 3 * S * S], label : i32[n]) {
  return accuracy = mean(argmax(net(image)) == label)
}
