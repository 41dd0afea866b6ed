let B = 4
entry f(x : f32[B, 8]) {
  y = x @ x' : f32[B, 8]
  return y
}
