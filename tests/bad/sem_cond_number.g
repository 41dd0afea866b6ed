entry f(x : f32[3]) {
  return y = x if 1 else x * 2
}
