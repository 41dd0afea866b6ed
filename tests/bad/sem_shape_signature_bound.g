def add(a : f32[n, d], b : f32[n, d]) {
  return a + b
}
entry f(a : f32[4, 8], b : f32[5, 8]) {
  return y = add(a, b)
}
