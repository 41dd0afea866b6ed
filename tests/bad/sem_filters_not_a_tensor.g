entry f(x : f32[4, 8, 9, 9], y : f32[4, 8, 9]) {
  return a = conv2d(x, 16, 3), b = conv_transpose2d(x, 16, 2), c = conv1d(y, 16, 3)
}
