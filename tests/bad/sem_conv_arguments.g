# Numbers for rows and columns, paddings by name, strides that go forward.
entry f(x : f32[2, 3, 8, 8], w : f32[4, 3, 3, 3], l : f32[2, 3, 8], k : f32[4, 3, 3]) {
  a = conv2d(x, w, stride = [1, 2, 3])
  b = conv2d(x, w, stride = 0)
  c = conv2d(x, w, pad = [1, 2, 3])
  d = conv2d(x, w, pad = "full")
  e = conv2d(x, w, pad = -1)
  g = conv2d(x, w, dilation = 0)
  h = conv1d(l, k, stride = [1, 2])
  i = conv1d(l, k, pad = [1, 2, 3])
  j = max_pool(x, 0)
  m = conv_transpose2d(x, w[0:3], stride = 2, output_pad = 2)
  n = conv_transpose2d(x, w[0:3], stride = -1)
  return o = conv2d(x, w, groups = 0)
}
