let N = 3
entry f(x : f32[4]) {
  return y = x * N[0]
}
