entry f(x : f32[4], y : f32[4]) {
  return z = (x > 0) + y
}
