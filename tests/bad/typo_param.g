def f(x) {
  parm w : f32[3] = zeros()
  return x * w
}
