# gradients with respect to filters by wgmma, f16 and bf16: padding, strides, dilation, groups, tiles that channels do not
# fill, more taps than a block has, several tiles of filters in one block, several blocks for the pixels, in clusters,
# taps of one phase of a stride
entry same(x : f32[3, 64, 6, 5], w : f32[56, 64, 3, 3], y : f32[3, 56, 6, 5]) {
  return dw = grad(sum(f32(conv2d(f16(x), f16(w), 1, 1)) * y), w)
}
entry strided(x : f32[2, 50, 9, 8], w : f32[64, 50, 3, 3], y : f32[2, 64, 5, 4]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 2, 1)) * y), w)
}
entry row(x : f32[1, 56, 5, 9], w : f32[130, 56, 1, 3], y : f32[1, 130, 5, 9]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 1, [0, 1])) * y), w)
}
entry valid(x : f32[2, 64, 7, 8], w : f32[64, 64, 5, 5], y : f32[2, 64, 3, 4]) {
  return dw = grad(sum(f32(conv2d(f16(x), f16(w), 1, 0)) * y), w)
}
entry groups(x : f32[1, 106, 9, 9], w : f32[128, 53, 3, 2], y : f32[1, 128, 7, 9]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 1, 1, dilation = 2, groups = 2)) * y), w)
}
entry parts(x : f32[9, 64, 16, 13], w : f32[60, 64, 3, 3], y : f32[9, 60, 16, 13]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 1, 1)) * y), w)
}
entry phase(x : f32[2, 64, 10, 9], w : f32[60, 64, 3, 3], y : f32[2, 60, 4, 9]) {
  return dw = grad(sum(f32(conv2d(f16(x), f16(w), [2, 1], 1, dilation = [2, 1])) * y), w)
}
# operands copied as they lie: patches by 16 and by 4 bytes, in groups, and channels of one tap
entry copied_patches(x : f32[16, 2, 32, 128], w : f32[56, 2, 8, 16], y : f32[16, 56, 4, 8]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), [8, 16], 0)) * y), w)
}
entry copied_pieces(x : f32[17, 4, 35, 36], w : f32[160, 2, 7, 6], y : f32[17, 160, 5, 6]) {
  return dw = grad(sum(f32(conv2d(f16(x), f16(w), [7, 6], 0, groups = 2)) * y), w)
}
entry copied_tap(x : f32[13, 51, 6, 7], w : f32[125, 51, 1, 1], y : f32[13, 125, 6, 7]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 1, 0)) * y), w)
}
