entry f(x : f32[n <= 8, 4], y : f32[n, 3, 4]) {
  return y = x[2], z = x[0], w = x[-1], a = x[-2:], b = x[::2], c = pad(x[2:], [2, 0], [0, 0]), d = concat([x[2:], zeros([1, 4])]), e = split(x, 2),
         f = arange(1, n)
}
entry g(x : f32[n <= 8, 4]) { return v = x[7:], u = x[4:-4] }
entry h(x : f32[n <= 9, t <= 4, 2]) { return y = reshape(x[1:], [-1, 2]) }
entry p(x : f32[n <= 8, 4]) { return y = x[:n // 2], z = x[n / 4:], u = x[:4 - n] }
