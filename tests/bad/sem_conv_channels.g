# The filters' channels must be the images'.
entry f(x : f32[2, 3, 8, 8], w : f32[4, 5, 3, 3]) {
  return y = conv2d(x, w)
}
