entry f(x : f32[8]) {
  state m : i32[8] = zeros()
  m := m + f32(m)
  return m
}
