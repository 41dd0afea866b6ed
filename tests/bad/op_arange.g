entry f(x : f32[4, 6], n : i32[]) {
  a = arange(n)
  b = arange(0, b = n)
  c = arange(3, 0)
  d = arange(0, 3, step = -1)
  e = arange(0, 3, step = 0)
  g = std(x, axis = 2)
  h = std(x, keep = 1)
  i = std("x")
  j = x[none, 0, 0, 0]
  k = x // (x > 0)
  l = (x > 0) // 2
  m = 3 // 0
  o = 3.5 // 0
  p = arange(0, 4000000000, 1000000000)
  q = arange(3000000000, 3000000002)
  r = iota(3000000000)
  s = iota(257, u8)
  t = iota(256, u8) + iota(256, u8)
  return x
}
