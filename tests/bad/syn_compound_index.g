entry f(x : f32[4]) {
  x[0] += 1
  return y = x
}
