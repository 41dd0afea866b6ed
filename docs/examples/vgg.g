# vgg.g: eight convolutions and three wide layers for ImageNet (Simonyan and Zisserman, 2014,
# configuration A). Images are bytes [N, 3 * S * S], plane after plane.
let N = 32                                    # images of a step, at most
let S = 224                                   # rows and columns of an image
let classes = 1000
let channels = [64, 128, 256, 512, 512]       # of the convolutions, stage by stage
let width = 4096                              # of the wide layers
hyper lr = 0.01

def net(image : u8[n, 3 * S * S]) {
  x = reshape(f32(image) / 127.5 - 1, [n, 3, S, S])
  depth = [1, 1, 2, 2, 2]
  for s in 0..5 {
    for i in 0..depth[s] { x = x |> conv(channels[s], 3) as conv[s][i] |> relu }
    x = max_pool(x, 2)
  }
  x = x |> flatten |> linear(width) as f1 |> relu |> linear(width) as f2 |> relu
  return linear(x, classes) as f3
}

entry train(image : u8[n <= N, 3 * S * S], label : i32[n]) {
  logits = net(image)
  loss = mean(xent(logits, label))
  minimize loss with sgd(lr, momentum = 0.9, decay = 5e-4)
  return loss, accuracy = mean(argmax(logits) == label)
}

entry test(image : u8[n <= N, 3 * S * S], label : i32[n]) {
  return accuracy = mean(argmax(net(image)) == label)
}
