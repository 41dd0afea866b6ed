# where and clamp
entry f(x : f32[3], n : i32[3], c : bool[3], d : bool[2]) {
  y = where(x, x, x)
  y = where(d, x, x)
  y = where(c, x, n)
  y = clamp(x, lo = n)
  y = clamp(x, hi = [1, 2])
  y = clamp(c, lo = 0)
  y = clamp(x, lo = "least")
  y = clamp(n, lo = 0.5)
  return y
}
