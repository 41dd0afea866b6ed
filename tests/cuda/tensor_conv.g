# convolutions and their gradients on tensor cores: f16 and bf16, padding, strides, dilation, groups, filters in whole
# chunks of 16 bytes and not, more than one block either way, sums split over blocks, work fused behind; f32, in tf32
entry same(x : f32[3, 24, 9, 7], w : f32[24, 24, 3, 3], b : f32[24, 1, 1], y : f32[3, 24, 9, 7]) {
  z = relu(conv2d(f16(x), f16(w), 1, 1) + f16(b))
  dx, dw, db = grad(sum(f32(z) * y), [x, w, b])
  return z = f32(z), dx, dw, db
}
entry plain(x : f32[2, 33, 6, 5], w : f32[70, 33, 1, 1], y : f32[2, 70, 6, 5]) {
  z = f32(conv2d(bf16(x), bf16(w), 1, 0))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
entry stem(x : f32[2, 3, 19, 17], w : f32[36, 3, 7, 5], y : f32[2, 36, 10, 9]) {
  z = f32(conv2d(bf16(x), bf16(w), 2, [3, 2]))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
entry groups(x : f32[2, 32, 9, 9], w : f32[48, 16, 3, 3], y : f32[2, 48, 7, 7]) {
  z = f32(conv2d(f16(x), f16(w), 1, 1, dilation = 2, groups = 2))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
entry strided(x : f32[2, 34, 11, 8], w : f32[32, 34, 3, 2], y : f32[2, 32, 6, 4]) {
  z = f32(conv2d(bf16(x), bf16(w), 2, [1, 0]))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
entry large(x : f32[2, 128, 12, 12], w : f32[130, 128, 1, 1], y : f32[2, 130, 12, 12]) {
  z = f32(conv2d(f16(x), f16(w), 1, 0))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
entry split(x : f32[9, 16, 16, 16], w : f32[32, 16, 3, 3], y : f32[9, 32, 16, 16]) {
  z = f32(conv2d(bf16(x), bf16(w), 1, 1))
  return dw = grad(sum(z * y), w)
}
entry single(x : f32[3, 20, 9, 7], w : f32[24, 20, 3, 3], b : f32[24, 1, 1], y : f32[3, 24, 9, 7]) {
  z = relu(conv2d(x, w, 1, 1) + b)
  dx, dw, db = grad(sum(z * y), [x, w, b])
  return z, dx, dw, db
}
entry single_groups(x : f32[2, 12, 9, 8], w : f32[18, 6, 3, 2], y : f32[2, 18, 5, 4]) {
  z = conv2d(x, w, 2, [1, 0], groups = 2)
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
# weights, which a convolution rounds itself: in whole chunks and not, in groups, with a stride
entry weights(x : f32[2, 24, 9, 7], y : f32[2, 18, 4, 3]) {
  param v : f32[10, 24, 3, 3] = normal(std = 0.1)
  param w : f32[18, 5, 3, 3] = normal(std = 0.1)
  z = conv2d(relu(conv2d(x, v, 1, 1)), w, 2, 0, groups = 2)
  dx, dv, dw = grad(sum(z * y), [x, v, w])
  return z, dx, dv, dw
}
# k-tiles of one tap, of which a block leaves out those that its pixels do not have: some phases of the last one have none
entry by_taps(x : f32[2, 64, 9, 8], y : f32[2, 34, 5, 4]) {
  param f : f32[32, 64, 3, 3] = normal(std = 0.1)
  param g : f32[34, 32, 1, 1] = normal(std = 0.1)
  z = conv2d(relu(conv2d(x, f, 1, 1)), g, 2, 0)
  dx, df, dg = grad(sum(z * y), [x, f, g])
  return z, dx, df, dg
}
entry by_taps_strided(x : f32[2, 40, 9, 8], w : f32[64, 40, 3, 3], y : f32[2, 64, 5, 4]) {
  return dx = grad(sum(f32(conv2d(f16(x), f16(w), 2, 1)) * y), x)
}
# by channels, off tensor cores
entry depthwise(x : f32[9, 4, 12, 14], w : f32[4, 1, 3, 3], y : f32[9, 4, 12, 14]) {
  z = f32(conv2d(f16(x), f16(w), 1, 1, groups = 4))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
