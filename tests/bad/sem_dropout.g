entry f(x : f32[3, 4]) {
  return y = dropout(x, 1)
}
