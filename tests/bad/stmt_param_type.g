def f(x) {
  param w = zeros()
  param v : f32[3]
  param : f32 = 3
  return x
}
