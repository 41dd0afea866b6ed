entry f(x : f32[4, 8]) {
  return y = x[::0]
}
