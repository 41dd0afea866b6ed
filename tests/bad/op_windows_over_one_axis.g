# what is said of conv1d and of pools over one axis speaks of the shapes that the program has
entry f(x : f32[2, 4, 8], w : f32[6, 4, 3], b : bool[2, 4, 8]) {
  y = conv1d(x, w, groups = 3)
  y = conv1d(x, w[:, 0:2])
  y = conv1d(f64(x), w)
  y = conv1d(x, w, groups = 0)
  y = conv1d(reshape(x, [1, 8, 8]), reshape(w[0:2], [1, 8, 3]), groups = 4)
  y = max_pool(x, 9)
  y = max_pool(b, 2)
  y = avg_pool(x, 2, pad = 2)
  y = max_pool(x, 2, stride = 0)
  y = max_pool(x, 2, dilation = 8)
  return y
}
