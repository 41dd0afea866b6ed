entry f(x : f32[4, 8]) {
  return y = broadcast(x, [4, 4])
}
