# Convolutions and pools on images, in all the ways in which their layouts meet.
def energy(x) { return mean(x * x) }

# panels, a filter a channel, an image that comes in and one that goes out, a mean over pixels
entry chain(x : f32[3, 5, 11, 9]) {
  param a : f32[7, 5, 3, 3] = normal(std = 0.2)
  param b : f32[40, 7, 3, 3] = normal(std = 0.2)
  param s : f32[40] = ones()
  param c : f32[36, 40, 1, 1] = normal(std = 0.2)
  param d : f32[36, 1, 3, 3] = normal(std = 0.2)
  h = relu(conv2d(x, a, pad = 1))
  h = conv2d(h, b, stride = 2, pad = 1) * reshape(s, [1, 40, 1, 1])
  h = conv2d(max_pool(h, 2, stride = 1, pad = 1), c)
  h = conv2d(h, d, pad = 1, groups = 36) + h
  loss = energy(mean(h, axis = [2, 3]))
  ga, gb, gs, gc, gd, gx = grad(loss, [a, b, s, c, d, x])
  return loss, h, ga, gb, gs, gc, gd, gx
}

# strides, holes, groups, sides without padding; channels put together and taken apart
entry strides(x : f32[2, 6, 17, 13]) {
  param f : f32[8, 3, 3, 2] = normal(std = 0.3)
  param g : f32[10, 6, 5, 4] = normal(std = 0.3)
  param k : f32[20, 18, 2, 3] = normal(std = 0.3)
  p = conv2d(x, f, stride = [3, 2], pad = [2, 1], dilation = [2, 1], groups = 2)
  q = conv2d(x, g, stride = [3, 2], pad = [2, 1])
  p = p[:, :, 0:5, 0:6]
  h = concat([p, tanh(q[:, :, 0:5, 0:6])], axis = 1)
  y = conv2d(h, k, pad = [0, 2], dilation = [3, 2])
  z = avg_pool(y[:, 3:17:2], 2, stride = 2)
  loss = energy(z) + energy(y)
  gf, gg, gk, gx = grad(loss, [f, g, k, x])
  return loss, y, z, gf, gg, gk, gx
}

# a filter that is also read as it is, one that two convolutions share, statistics of a channel
entry shared(x : f32[4, 3, 8, 8]) {
  param w : f32[33, 3, 3, 3] = normal(std = 0.3)
  param v : f32[3, 33, 1, 1] = normal(std = 0.3)
  h = conv2d(x, w, pad = 1)
  m = mean(h, axis = [0, 2, 3])
  h = (h - reshape(m, [1, 33, 1, 1])) * rsqrt(reshape(var(h, axis = [0, 2, 3]), [1, 33, 1, 1]) + 1e-3)
  u = conv2d(relu(h), v)
  o = conv2d(u, w, pad = 1, stride = 2)
  loss = energy(o) + sum(w * w) + energy(v)
  gw, gv = grad(loss, [w, v])
  return loss, o, gw, gv
}

# in a loop images and filters lie as they always do, around it as convolutions want them
entry loop(x : f32[2, 3, 6, 6]) {
  param inner : f32[3, 3, 3, 3] = normal(std = 0.3)
  param outer : f32[3, 3, 3, 3] = normal(std = 0.3)
  h = conv2d(x, outer, pad = 1)
  g = relu(conv2d(x, outer, pad = 1, dilation = 1))
  scan i in 0..2 { h = relu(conv2d(h, inner, pad = 1)) + g }
  y = conv2d(h, outer, pad = 1)
  loss = mean(y * y)
  gi, go = grad(loss, [inner, outer])
  return loss, y, gi, go
}

# loops over sixteen channels are unrolled whole, where skipped taps must stay skipped
entry sixteen(x : f32[3, 16, 7, 6]) {
  y = conv(x, 16, 1) as mix
  a = avg_pool(y, 3, 2, pad = 1, ceil = true)
  m = max_pool(y, 3, 2, pad = 1)
  d = conv(y, 16, 3, groups = 16) as each
  loss = energy(a) + energy(m) + energy(d)
  gx = grad(loss, x)
  return loss, a, m, d, gx
}

# what dropout keeps follows from an element's logical place, wherever it lies
entry dropped(x : f32[2, 6, 5, 4]) {
  y = dropout(conv(x, 7, 3) as wide, 0.25)
  z = conv(tanh(y), 3, 3) as narrow
  minimize energy(z) with sgd(0.1)
  return y, z
}

# a filter for each channel: blocks of channels and of taps, rows and columns that few taps reach, more
# pixels than a chunk; work behind the gradients
entry each(x : f32[2, 37, 20, 41]) {
  param five : f32[37, 1, 5, 3] = normal(std = 0.3)
  param line : f32[37, 1, 1, 31] = normal(std = 0.3)
  param seven : f32[37, 1, 7, 7] = normal(std = 0.3)
  param holes : f32[37, 1, 3, 4] = normal(std = 0.3)
  h = tanh(conv2d(x, five, pad = [2, 1], groups = 37))
  h = conv2d(h, line, pad = [0, 15], groups = 37)
  h = conv2d(h, seven, stride = [3, 2], pad = [6, 3], groups = 37)
  y = conv2d(h, holes, pad = [2, 1], dilation = [2, 3], groups = 37)
  loss = energy(y)
  ga, gb, gc, gd = grad(loss, [five, line, seven, holes])
  return loss, ga, stepped = line - gb * 0.1, gc, size = abs(gd)
}

# gradients by filters of few outputs and of many inputs: tall tiles, tiles that ask for the next one's
entry tall(x : f32[5, 70, 17, 13]) {
  param few : f32[16, 70, 1, 1] = normal(std = 0.2)
  param fewer : f32[9, 16, 3, 3] = normal(std = 0.2)
  param many : f32[70, 9, 3, 3] = normal(std = 0.2)
  param more : f32[66, 70, 1, 1] = normal(std = 0.2)
  h = conv2d(tanh(conv2d(x, few)), fewer, pad = 1)
  y = conv2d(conv2d(h, many, stride = 2), more)
  loss = energy(y)
  ga, gb, gc, gd = grad(loss, [few, fewer, many, more])
  return loss, ga, gb, gc, gd
}

# gradients by filters of many inputs that meet each pixel once: blocks of tiles for several panels, uneven tiles and
# blocks, chunks of images, pixels left out; work behind one of them; tiles a line deep that ask for the next pixels
entry once(x : f32[4, 299, 17, 13]) {
  param all : f32[66, 299, 1, 1] = normal(std = 0.2)
  param some : f32[66, 299, 1, 1] = normal(std = 0.2)
  param thin : f32[5, 16, 1, 1] = normal(std = 0.2)
  y = conv2d(x[:, 0:16], thin, stride = 2)
  loss = energy(conv2d(x, all)) + energy(conv2d(x, some, stride = [2, 3])) + energy(y)
  ga, gb = grad(loss, [all, some])
  return loss, ga, stepped = some - gb * 0.1, y
}

# sums over all pixels of what a convolution leaves: of fewer pixels than a row has lanes, of more, several blocks of channels
entry whole(x : f32[3, 5, 17, 13]) {
  param wide : f32[70, 5, 3, 3] = normal(std = 0.2)
  param narrow : f32[9, 70, 1, 1] = normal(std = 0.2)
  h = tanh(conv2d(x, wide, pad = 1))
  mean = sum(h, [2, 3]) / 221
  y = conv2d(h * reshape(sigmoid(mean), [3, 70, 1, 1]), narrow, stride = 4)
  return mean, total = sum(y, [2, 3])
}

# by Winograd's method: odd sizes, panels with tails, no padding and more than a filter reaches, filters that lie in panels
# and as the program has them
entry tiles(x : f32[2, 32, 15, 20], r : f32[2, 40, 17, 16], f : f32[40, 37, 3, 3]) {
  param w1 : f32[37, 32, 3, 3] = normal(std = 0.1)
  h = relu(conv2d(x, w1, pad = [1, 0]) + 0.1)
  y = tanh(conv2d(h, f, pad = [2, 0]) + r)
  loss = mean(y * y)
  gp, gf, gx = grad(loss, [w1, f, x])
  return loss, h, y, gp, gf, gx
}
