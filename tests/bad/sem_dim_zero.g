let n = 4
entry f(x : f32[n - 4]) {
  return y = x
}
