# Images have four axes, lines have three.
entry f(x : f32[3, 8, 8], w : f32[4, 3, 3, 3], y : f32[2, 3, 8, 8], v : f32[4, 3, 3]) {
  a = conv2d(x, w)
  b = conv1d(y, v)
  c = conv_transpose2d(x, w)
  d = max_pool(x[0], 2)
  return e = batch_norm(x[0, 0], 0, 1)
}
