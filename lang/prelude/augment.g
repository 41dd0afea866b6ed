# ---- augmentation of images [n, c, h, w]: each image anew in every step of training; elsewhere x as it is ----

# mirrored left to right with probability p
def random_flip(x : [n, c, h, w], p : fraction = 0.5) {
  if not training { return x }
  return where(uniform(shape = [n, 1, 1, 1]) < p, reverse(x, axis = 3), x)
}

# shifted by up to `most` pixels along rows and columns; zeros come in at the edges
def random_crop(x : [n, c, h, w], most : count) {
  if not training { return x }
  rows, columns = h + 2 * most, w + 2 * most
  wide = transpose(pad(x, [0, 0, most, most], [0, 0, most, most]), [0, 2, 3, 1])
  top = i32(floor(uniform(0, 2 * most + 1, shape = [n, 1, 1])))
  left = i32(floor(uniform(0, 2 * most + 1, shape = [n, 1, 1])))
  pixel = (top + iota(h)[:, none]) * columns + left + iota(w)
  y = gather(reshape(wide, [n, rows * columns, c]), pixel, batch = 1)
  return transpose(y, [0, 3, 1, 2])
}

# brightness times 1 - brightness to 1 + brightness, then differences from the image's mean times 1 - contrast to
# 1 + contrast
def jitter(x : [n, c, h, w], brightness : fraction = 0.2, contrast : fraction = 0.2) {
  if not training { return x }
  x = x * uniform(1 - brightness, 1 + brightness, shape = [n, 1, 1, 1])
  m = mean(x, axis = [1, 2, 3], keep = true)
  return m + (x - m) * uniform(1 - contrast, 1 + contrast, shape = [n, 1, 1, 1])
}
