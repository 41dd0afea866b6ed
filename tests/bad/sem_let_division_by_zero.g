let n = 3 / 0
entry f(x : f32[3]) {
  return y = x * n
}
