def both(x) { return x, x + 1 }
entry f(x : f32[4, 8]) {
  y = both(x)
  return y
}
