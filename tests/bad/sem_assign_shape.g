entry f(x : f32[8]) {
  state m : f32[4] = zeros()
  m := x
  return m
}
