entry f(x : f32[4], y : bool[4]) {
  return z = x and y
}
