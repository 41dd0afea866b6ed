# resnet50.g: a residual net of 50 layers for ImageNet (He et al., 2016; the stride of a block is in its
# 3 x 3 convolution). Images are bytes [N, 3 * S * S], plane after plane.
let N = 32                                    # images of a step, at most
let S = 224                                   # rows and columns of an image
let classes = 1000
let blocks = [3, 4, 6, 3]                     # of each stage; [3, 4, 23, 3] makes 101 layers
let width = 64                                # channels of the first stage, within a block
hyper lr = 0.1

def cb(x, out, k = 1, stride = 1) { return x |> conv(out, k, stride, bias = false) |> bn }

# convolutions of 1 x 1, 3 x 3 and 1 x 1 with a skip connection
def block(x, mid, stride) {
  y = x |> cb(mid) as c1 |> relu |> cb(mid, 3, stride) as c2 |> relu |> cb(4 * mid) as c3
  if stride != 1 or dim(x, 1) != 4 * mid { x = cb(x, 4 * mid, 1, stride) as skip }
  return relu(y + x)
}

def net(image : u8[n, 3 * S * S]) {
  x = reshape(f32(image) / 127.5 - 1, [n, 3, S, S])
  x = x |> cb(width, 7, 2) as stem |> relu |> max_pool(3, 2, pad = 1)
  for s in 0..4 {
    for i in 0..blocks[s] { x = block(x, width * 2 ** s, 2 if s > 0 and i == 0 else 1) as layer[s][i] }
  }
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
