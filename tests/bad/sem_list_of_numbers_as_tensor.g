entry f(x : f32[3]) {
  return y = x + [1, 2, 3]
}
