let n = 7 / 2
entry f(x : f32[n]) {
  return y = x
}
