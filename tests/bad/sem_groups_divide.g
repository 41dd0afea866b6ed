entry f(x : f32[2, 12, 8, 8]) {
  return a = groupnorm(x, 5), b = conv(x, 16, 3, groups = 5), c = conv_transpose(x, 16, 3, groups = 3)
}
