# convolutions and their gradients in tiles: padding, strides, dilation, groups, few and uneven channels, several
# k-tiles of channels and of taps, more than one block either way, work fused behind
entry same(x : f32[3, 20, 9, 7], w : f32[24, 20, 3, 3], b : f32[24, 1, 1], r : f32[3, 24, 9, 7]) {
  return y = relu(conv2d(x, w, 1, 1) + b) + r
}
entry plain(x : f32[2, 33, 6, 5], w : f32[70, 33, 1, 1]) { return y = conv2d(x, w, 1, 0) }
entry stem(x : f32[2, 3, 19, 17], w : f32[36, 3, 7, 5], y : f32[2, 36, 10, 9]) {
  z = conv2d(x, w, 2, [3, 2])
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
entry patches(x : f32[4, 3, 64, 96], w : f32[20, 3, 16, 12], y : f32[4, 20, 4, 8]) { # taps of no two pixels are the same
  z = conv2d(x, w, [16, 12], 0)
  return z, dw = grad(sum(z * y), w)
}
entry odd_boxes(x : f32[3, 8, 13, 37], w : f32[18, 4, 4, 5], y : f32[3, 18, 6, 12]) { # NaN, infinities, -0; groups, dilation
  z = conv2d(log(x), w, [2, 3], [1, 3], dilation = [1, 2], groups = 2)
  return z, dw = grad(sum(z * log(y)), w)
}
entry strided(x : f32[2, 34, 11, 8], w : f32[32, 34, 3, 2], y : f32[2, 32, 6, 4]) {
  z = conv2d(x, w, 2, [1, 0])
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
entry phases(x : f32[4, 20, 19, 17], w : f32[18, 20, 3, 3], y : f32[4, 18, 10, 6]) { # blocks of one phase, with few taps or none
  return dx = grad(sum(conv2d(x, w, [2, 3], [1, 2], dilation = [1, 2]) * y), x)
}
entry groups(x : f32[2, 32, 9, 9], w : f32[48, 16, 3, 3], y : f32[2, 48, 7, 7]) {
  z = conv2d(x, w, 1, 1, dilation = 2, groups = 2)
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
entry many(x : f32[3, 16, 24, 24], w : f32[64, 16, 3, 3]) { return y = conv2d(x, w, 1, 1) }
entry double(x : f64[2, 17, 8, 8], w : f64[40, 17, 3, 3], y : f64[2, 40, 8, 8]) {
  z = conv2d(x, w, 1, 1)
  return z, dx = grad(sum(z * y), x)
}
entry half(x : f32[2, 18, 8, 8], w : f32[40, 18, 3, 3]) { return y = f32(conv2d(f16(x), f16(w), 1, 1)) }
entry odd(x : f32[1, 16, 5, 5], w : f32[32, 16, 3, 3]) { return y = conv2d(log(x), w, 1, 1) }   # NaN, infinities, -0 beside the padding
# gradients with respect to filters: chunks of rows with a shorter last one in each image, and of several images; one
# chunk a block in rounds of launches, and all; a multiple of a tile's weights, and edges; work fused behind
entry rows(x : f32[2, 5, 30, 29], w : f32[19, 5, 3, 3], y : f32[2, 19, 30, 29]) {
  return dw = grad(sum(conv2d(x, w, 1, 1) * y), w) * 0.5 + w
}
entry images(x : f32[19, 32, 14, 15], w : f32[34, 32, 2, 2], y : f32[19, 34, 7, 8]) {
  return dw = grad(sum(conv2d(x, w, [2, 2], [0, 1]) * y), w)
}
entry split(x : f32[5, 3, 20, 20], w : f32[21, 3, 3, 3], y : f32[5, 21, 20, 20]) {
  return dw = grad(sum(conv2d(x, w, 1, 1) * y), w) * 0.5 + w
}
entry large(x : f32[1, 28, 9, 7], w : f32[120, 28, 3, 3], y : f32[1, 120, 9, 7]) {
  return dw = grad(sum(conv2d(x, w, 1, 1) * y), w)
}
entry half_filters(x : f32[3, 20, 17, 17], w : f32[30, 10, 3, 1], y : f32[3, 30, 15, 17]) {
  z = f32(conv2d(f16(x), f16(w), 1, 0, groups = 2))
  return dw = grad(sum(z * y), w)
}
entry double_filters(x : f64[4, 12, 16, 16], w : f64[33, 12, 1, 1], y : f64[4, 33, 16, 16]) {
  return dw = grad(sum(conv2d(x, w, 1, 0) * y), w)
}
entry odd_filters(x : f32[2, 6, 20, 20], w : f32[16, 6, 3, 3], y : f32[2, 16, 20, 20]) {   # NaN, infinities, -0 beside the padding
  return dw = grad(sum(conv2d(log(x), w, 1, 1) * log(y)), w)
}
entry tap_rows(x : f32[1, 60, 30, 29], w : f32[19, 60, 3, 3], y : f32[1, 19, 30, 29]) { # NaN, infinities, -0, channels enough for a tap a block
  return dw = grad(sum(conv2d(log(x), w, 1, 1) * log(y)), w) * 0.5 + w
}
entry few_taps(x : f32[2, 60, 2, 4], w : f32[33, 60, 7, 3], y : f32[2, 33, 2, 4]) { # taps that no pixel has
  return dw = grad(sum(conv2d(x, w, 1, [3, 1]) * y), w)
}
