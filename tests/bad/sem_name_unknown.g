entry f(x : f32[4]) {
  return z = x * scal
}
