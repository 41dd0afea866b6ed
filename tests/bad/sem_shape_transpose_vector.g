entry f(x : f32[4]) {
  return y = x'
}
