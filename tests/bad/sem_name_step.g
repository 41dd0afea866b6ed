hyper step = 100
entry f(x : f32[3]) {
  return y = x * step
}
