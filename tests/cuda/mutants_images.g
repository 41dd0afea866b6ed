# A convolution by wgmma, and a gradient with respect to the image, in which errors are planted: strided, in groups, with
# channels that do not fill k-tiles and tiles, more k-tiles than stages, and more tiles than blocks.
entry image(x : f32[3, 350, 13, 11], w : f32[350, 70, 3, 3]) { return z = conv2d(bf16(x), bf16(w), 2, 1, groups = 5) }
entry image_grad(dy : f32[3, 210, 7, 5], w : f32[210, 70, 3, 3], x : f32[3, 210, 13, 9]) {
  return dx = grad(sum(f32(conv2d(bf16(x), bf16(w), 2, 1, groups = 3)) * dy), x)
}
