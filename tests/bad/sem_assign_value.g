entry f(x : f32[8]) {
  y = x * 2
  y := x
  return y
}
