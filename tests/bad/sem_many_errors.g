entry f(x : f32[3]) {
  a = x + b1
  b = x @ 3
  c = a + b
  d = c * undefined_too
  return d
}
