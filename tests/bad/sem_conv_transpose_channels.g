# The filters of a transposed convolution begin with the channels of its images.
entry f(x : f32[2, 3, 8, 8], w : f32[4, 3, 3, 3]) {
  return y = conv_transpose2d(x, w)
}
