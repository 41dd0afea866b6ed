# depthwise convolutions and their gradients: several filters a channel, strides, dilation, more padding than a filter
# needs, filters wider than a thread has taps, planes of a few rows and of several parts, chunks of several images and of some
# rows of one; more sums than scratch holds at a time; f64, a bounded batch, work fused behind
entry several(x : f32[5, 6, 17, 13], w : f32[12, 1, 3, 3], y : f32[5, 12, 17, 13]) {
  z = conv2d(x, w, 1, 1, groups = 6)
  return q = relu(z) + y, dw = 0.5 * grad(sum(z * y), w)
}
entry strided(x : f32[6, 5, 31, 29], w : f32[5, 1, 5, 4], y : f32[6, 5, 14, 10]) {
  z = conv2d(x, w, [2, 3], [2, 5], dilation = [2, 3], groups = 5)
  return z, dw = grad(sum(z * y), w)
}
entry dilated(x : f32[2, 7, 31, 29], w : f32[7, 1, 5, 4], y : f32[2, 7, 29, 32]) {
  z = conv2d(x, w, 1, [3, 6], dilation = [2, 3], groups = 7)
  return z, dx = relu(grad(sum(z * y), x)) + x
}
entry tiny(x : f32[20, 10, 7, 7], w : f32[10, 1, 7, 7], y : f32[20, 10, 7, 7]) {
  z = conv2d(x, w, 1, 3, groups = 10)
  dx, dw = grad(sum(z * y), [x, w])
  return dx, dw
}
entry rows(x : f32[1, 22, 53, 40], w : f32[22, 1, 3, 3], y : f32[1, 22, 53, 40]) {
  return dw = grad(sum(conv2d(x, w, 1, 1, groups = 22) * y), w)
}
entry parts(x : f32[1, 2, 90, 100], w : f32[2, 1, 3, 3]) { return z = conv2d(x, w, 1, 0, groups = 2) }
entry wide(x : f32[7, 1, 28, 28], w : f32[1, 1, 19, 21], y : f32[7, 1, 28, 28]) {
  return dw = grad(sum(conv2d(x, w, 1, [9, 10]) * y), w)
}
entry double(x : f64[9, 3, 12, 14], w : f64[3, 1, 3, 2], y : f64[9, 3, 12, 15]) {
  z = conv2d(x, w, 1, [1, 1], groups = 3)
  return z, dw = grad(sum(z * y), w)
}
entry bounded(x : f32[n <= 30, 3, 11, 9], w : f32[3, 1, 3, 3], y : f32[n, 3, 11, 9]) {
  z = conv2d(x, w, 1, 1, groups = 3)
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
# launches of one kernel in one: a block is that of its launch
entry towers(x : f32[2, 4, 12, 14], y : f32[2, 4, 12, 14], w : f32[4, 1, 3, 3]) {
  a, b = conv2d(x, w, 1, 1, groups = 4), conv2d(y, w, 1, 1, groups = 4)
  dx, dy = grad(sum(a * b), [x, y])
  return a, b, dx, dy
}
# results of several columns a thread, in vectors: with what is fused behind, strides, dilation, a gradient, planes that rows of the
# source do not fill, halves and f64
entry vectors(x : f32[3, 5, 18, 20], w : f32[5, 1, 5, 5], y : f32[3, 5, 18, 20]) {
  z = conv2d(x, w, 1, 2, groups = 5)
  dx, dw = grad(sum(z * y), [x, w])
  return q = gelu(z) * 0.5 + y, dx, dw
}
entry vectors_apart(x : f32[2, 3, 25, 32], w : f32[6, 1, 3, 3], y : f32[2, 6, 13, 16]) {
  z = conv2d(x, w, 2, 1, groups = 3)
  return q = z + y, u = conv2d(x, w, 1, 2, dilation = 2, groups = 3)
}
entry vectors_of_halves(x : f32[2, 6, 14, 28], w : f32[6, 1, 3, 3], y : f32[2, 6, 14, 28]) {
  z = conv2d(bf16(x), bf16(w), 1, 1, groups = 6)
  return z, dw = grad(sum(f32(z) * y), w)
}
# taps that lie too far apart for vectors, and rows that end within the pixels that a thread does at a time
entry far(x : f32[2, 3, 20, 90], w : f32[3, 1, 2, 3], y : f32[2, 3, 19, 33]) {
  return dw = grad(sum(conv2d(x, w, 1, [0, 1], dilation = [1, 29], groups = 3)[:, :, :, :33] * y), w)
}
entry vectors_of_doubles(x : f64[2, 6, 9, 12], w : f64[6, 1, 3, 3]) { return z = conv2d(x, w, 1, 1, groups = 6) }
