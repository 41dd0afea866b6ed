# convolutions and their gradients with respect to the image by wgmma, f16 and bf16: padding, strides, dilation, groups,
# channels that k-tiles and channels of the result that tiles do not fill, more tiles than blocks, phases of a stride
# without a tap, work fused behind, filters that a convolution rounds itself
entry image(x : f32[3, 50, 11, 12], w : f32[72, 50, 3, 3], b : f32[72, 1, 1], y : f32[3, 72, 11, 12]) {
  return z = relu(f32(conv2d(f16(x), f16(w), 1, 1)) + b + y)
}
entry image_strided(x : f32[2, 64, 18, 13], w : f32[124, 64, 3, 3]) { return z = conv2d(bf16(x), bf16(w), 2, 1) }
entry image_groups(x : f32[1, 80, 13, 12], w : f32[128, 40, 3, 2]) {
  return z = conv2d(bf16(x), bf16(w), 1, 1, dilation = 2, groups = 2)
}
entry image_phase(x : f32[1, 63, 19, 12], w : f32[128, 63, 3, 3]) {
  return z = conv2d(bf16(x), bf16(w), [2, 1], 1, dilation = [2, 1])
}
entry image_plain(x : f32[5, 130, 7, 5], w : f32[100, 130, 1, 1]) { return z = conv2d(bf16(x), bf16(w), 1, 0) }
# patches: copies of 16, 4 and 8 bytes, in groups, of channels that do not fill k-tiles, rows and columns that no patch has
entry image_patches(x : f32[3, 2, 32, 48], w : f32[72, 2, 16, 16], b : f32[72, 1, 1]) {
  return z = relu(f32(conv2d(bf16(x), bf16(w), 16, 0)) + b)
}
# ... an infinity beside channels that there are none of
entry image_pieces(at : f32[2, 6, 30, 42], w : f32[100, 3, 14, 14]) {
  x = where(reshape(iota(15120), [2, 6, 30, 42]) == 0, inf, at)
  return z = conv2d(f16(x), f16(w), 14, 0, groups = 2)
}
entry image_rows(x : f32[5, 24, 20, 36], w : f32[68, 24, 6, 4]) { return z = conv2d(bf16(x), bf16(w), [6, 4], 0) }
entry grad_image(dy : f32[3, 60, 8, 9], w : f32[60, 56, 5, 3], x : f32[3, 56, 10, 9]) {
  return dx = grad(sum(f32(conv2d(f16(x), f16(w), 1, [1, 1])) * dy), x)
}
entry grad_strided(x : f32[2, 70, 17, 13], y : f32[2, 64, 9, 7]) {
  param w : f32[64, 70, 3, 3] = normal(std = 0.1)
  return dx = grad(sum(conv2d(x, w, 2, 1) * y), x)
}
entry grad_plain(x : f32[4, 120, 13, 12], w : f32[250, 120, 1, 1], y : f32[4, 250, 7, 6]) {
  return dx = grad(sum(f32(conv2d(bf16(x), bf16(w), 2, 0)) * y), x)
}
