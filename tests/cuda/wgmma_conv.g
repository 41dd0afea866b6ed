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
