# Convolutions are of floats, both of one dtype.
entry f(x : u8[2, 3, 8, 8], y : f16[2, 3, 8, 8], w : f32[4, 3, 3, 3]) {
  a = conv2d(x, w)
  b = conv2d(y, w)
  c = avg_pool(x, 2)
  return d = max_pool(x > 2, 2)
}
