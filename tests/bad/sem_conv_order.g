entry f(x : f32[4, 8, 16, 16]) {
  a = conv(x, 8, 32, 3) as a
  good = [conv(x, 8, 3, 2) as c, conv(x, 8, 8, 4) as d, conv(x, 16, 16, 3) as e, conv(x, 8, 8, stride = 3) as f]
  return a = sum(a) + sum(good[0]), l = lr
}
