entry f(x : f32[64, 256]) {
  return z = x @ 2
}
