entry f(x : f32[8, 4]) {
  return y = linear(4, 8)(x)
}
