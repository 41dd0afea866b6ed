entry f(x : f32[4, 8], t : f32[4]) {
  return y = xent(x, t)
}
