# strides, paddings, dilations and groups
entry f(x : f32[2, 4, 8, 8], w : f32[6, 4, 3, 3]) {
  y = conv2d(x, w, stride = 0)
  y = conv2d(x, w, stride = [1, 2, 3])
  y = conv2d(x, w, pad = -1)
  y = conv2d(x, w, pad = "full")
  y = conv2d(x, w, pad = [1, 1, 1])
  y = conv2d(x, w, dilation = 0)
  y = conv2d(x, w, dilation = 5)
  y = conv2d(x, w, groups = 0)
  y = conv2d(x, w, groups = 3)
  y = conv_transpose2d(x, w[0:4], stride = 0)
  y = conv_transpose2d(x, w[0:4], pad = 9)
  y = conv_transpose2d(x, w[0:4], stride = 2, output_pad = 2)
  y = conv_transpose2d(x, w[0:4], dilation = [1, 0])
  y = conv_transpose2d(x, w[0:4], groups = 3)
  return y
}
entry g(x : f32[2, 4, 8], w : f32[6, 4, 3]) {
  y = conv1d(x, w, stride = -1)
  y = conv1d(x, w, pad = [1, 1, 1])
  y = conv1d(x, w, dilation = 4)
  y = conv1d(x, w, groups = 2)
  y = conv1d(x, w[:, :, 0])
  return y
}
