entry f(x : f32[4, 8]) {
  return y = transpose(x, [0, 2, 1])
}
