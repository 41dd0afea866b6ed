# Code for sm_90a in which errors are planted. A convolution of patches by wgmma, of more tiles than blocks.
entry image_patches(x : f32[2, 10, 15, 24], w : f32[280, 5, 7, 12]) {
  return z = conv2d(bf16(x), bf16(w), [7, 12], 0, groups = 2)
}
# Gradients with respect to filters whose operands are copied as they lie: channels of one tap, and patches in groups; with
# edges, and more k-tiles than stages.
entry copied_tap(x : f32[13, 51, 6, 7], w : f32[125, 51, 1, 1], y : f32[13, 125, 6, 7]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 1, 0)) * y), w)
}
entry copied_patches(x : f32[17, 4, 35, 36], w : f32[160, 2, 7, 6], y : f32[17, 160, 5, 6]) {
  return dw = grad(sum(f32(conv2d(f16(x), f16(w), [7, 6], 0, groups = 2)) * y), w)
}
