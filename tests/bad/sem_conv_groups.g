# Groups divide the channels and the filters; each filter has the channels of its group.
entry f(x : f32[2, 6, 8, 8], w : f32[4, 3, 3, 3], v : f32[4, 6, 3, 3]) {
  a = conv2d(x, w, groups = 4)
  b = conv2d(x, w, groups = 3)
  c = conv2d(x, v, groups = 2)
  return d = conv(x, 8, 3, groups = 4) as layer
}
