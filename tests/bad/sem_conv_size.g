# The window must fit into the padded image.
entry f(x : f32[2, 3, 4, 8], w : f32[4, 3, 5, 3]) {
  a = conv2d(x, w)
  b = conv2d(x, w, pad = 1, dilation = 2)
  c = max_pool(x, [2, 9])
  d = avg_pool(x, 5)
  e = max_pool(x, 2, pad = 2)
  return g = conv_transpose2d(x, w[0:3], pad = 6)
}
