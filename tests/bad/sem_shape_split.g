entry f(x : f32[4, 8]) {
  a, b, c = split(x, 3, axis = 1)
  return a
}
