entry f(x : f32[64, 10], i : i32[4]) {
  a, b = quantize(i)
  c, d = quantize(x, bits = 5)
  e, g = quantize(x, axis = 2)
  h, j = quantize(x, group = 0)
  k = dequantize(i, x)
  q, s = quantize(x, bits = 4)
  l = dequantize(q, s, axis = 2)
  m = dequantize(q, s, group = 16)
  n = dequantize(q, s, group = 0)
  o = dequantize(q, s, extent = 62)
  p = dequantize(q, s, extent = 0)
  r = dequantize(q, s, dtype = i32)
  t = dequantize(q, s, dtype = 3)
  u = dequantize(q, s, bits = 5)
  return c
}
entry g(x : f32[t <= 64, 8]) {
  q, s = quantize(x)
  return q, s
}
