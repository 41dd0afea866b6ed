entry f(x : f32[3, 4]) {
  return y = x + uniform(0, 1)
}
