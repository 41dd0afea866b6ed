# A gradient with respect to filters by wgmma in which errors are planted: strided, in groups, with several tiles of filters
# and of channels that they do not fill, and more k-tiles than stages.
entry strided(x : f32[10, 200, 9, 8], w : f32[200, 100, 3, 3], y : f32[10, 200, 5, 4]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 2, 1, groups = 2)) * y), w)
}
