hyper n = 3
entry f(x : f32[n]) {
  return y = x
}
