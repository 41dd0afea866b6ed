entry f(x : f32[4]) {
  return z = where(x, 1, 0)
}
