# convolutions and their gradients on tensor cores: f16 and bf16, padding, strides, dilation, groups, filters in whole
# chunks of 16 bytes and not, more than one block either way, sums split over blocks, work fused behind
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
# k-tiles of one tap
entry by_taps_strided(x : f32[2, 40, 9, 8], w : f32[64, 40, 3, 3], y : f32[2, 64, 5, 4]) {
  return dx = grad(sum(f32(conv2d(f16(x), f16(w), 2, 1)) * y), x)
}
# by channels, off tensor cores
entry depthwise(x : f32[9, 4, 12, 14], w : f32[4, 1, 3, 3], y : f32[9, 4, 12, 14]) {
  z = f32(conv2d(f16(x), f16(w), 1, 1, groups = 4))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
# rows of the image in shared memory, whose copies are 16, 4 and 2 bytes wide; boxes that pixels do not fill
entry box(x : f32[2, 3, 32, 32], w : f32[20, 3, 7, 5], y : f32[2, 20, 16, 16]) {
  z = f32(conv2d(bf16(x), bf16(w), 2, [3, 2]))
  return z, dw = grad(sum(z * y), w)
}
# ... an infinity behind the end of a row of the result
entry box_grad(at : f32[3, 12, 24, 20], w : f32[20, 12, 3, 3], y : f32[3, 20, 26, 18]) {
  x = where(reshape(iota(17280), [3, 12, 24, 20]) == 79, inf, at)
  z = f32(conv2d(f16(x), f16(w), 1, [2, 1], dilation = [1, 2]))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
# ... an infinity that zeros behind the end of a filter are multiplied by
entry box_groups(at : f32[5, 6, 17, 15], w : f32[34, 3, 4, 3], y : f32[5, 34, 7, 15]) {
  x = where(reshape(iota(7650), [5, 6, 17, 15]) == 6945, inf, at)
  z = relu(f32(conv2d(bf16(x), bf16(w), [2, 1], [0, 1], groups = 2)))
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
# patches: loads of 16 and 4 bytes
entry patches(x : f32[2, 3, 17, 24], w : f32[36, 3, 8, 8]) { return z = conv2d(bf16(x), bf16(w), 8, 0) }
entry pieces(x : f32[1, 4, 28, 28], w : f32[40, 2, 14, 14]) { return z = conv2d(f16(x), f16(w), 14, 0, groups = 2) }
