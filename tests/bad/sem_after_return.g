entry f(x : f32[3]) {
  return y = x
  z = x
}
