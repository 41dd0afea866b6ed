entry f(x : f32[4, 8], i : f32) {
  return y = x[i]
}
