entry f(x : f32[4, 8]) {
  return y = sum(x, axis = 2)
}
