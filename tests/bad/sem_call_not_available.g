entry f(x : f32[1, 3, 8, 8], w : f32[4, 3, 3, 3]) {
  return y = conv2d(x, w)
}
