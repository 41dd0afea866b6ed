entry f(x : f32[4, 8, 16, 16]) {
  a = conv(x, 8, 32, 3) as a
  good = [conv(x, 8, 3, 2) as c, conv(x, 8, 8, 4) as d, conv(x, 16, 16, 3) as e, conv(x, 8, 8, stride = 3) as f, conv(x, 8, 8, 1) as g]
  b = conv_transpose(x, 8, 16, 3) as b
  fine = [conv_transpose(x, 8, 4, 2) as h, conv_transpose(x, 8, 8, stride = 3) as i, conv_transpose(x, 8, [8, 7]) as j]
  return a = sum(a) + sum(good[0]) + sum(b) + sum(fine[0]), l = lr
}
