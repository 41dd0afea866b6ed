# unet.g: U-Net on images of 256 x 256 (Ronneberger et al., 2015), four halvings, padded
let N = 8                                     # images of a step
let S = 256                                   # rows and columns of an image
let classes = 2
hyper lr = 0.01

def double(x, c) { return x |> conv(c, 3) as a |> relu |> conv(c, 3) as b |> relu }

# back up, beside what went past
def joined(past, x, c) {
  return concat([past, conv_transpose(x, c, 2, 2) as grow], axis = 1) |> double(c) as both
}

entry train(image : f32[N, 3, S, S], label : i32[N, S, S]) {
  x1 = double(image, 64) as down1
  x2 = double(max_pool(x1, 2), 128) as down2
  x3 = double(max_pool(x2, 2), 256) as down3
  x4 = double(max_pool(x3, 2), 512) as down4
  x = double(max_pool(x4, 2), 1024) as bottom
  x = joined(x4, x, 512) as up4
  x = joined(x3, x, 256) as up3
  x = joined(x2, x, 128) as up2
  x = joined(x1, x, 64) as up1
  logits = transpose(conv(x, classes, 1) as head, [0, 2, 3, 1])
  loss = mean(xent(logits, label))
  minimize loss with sgd(lr)
  return loss
}
