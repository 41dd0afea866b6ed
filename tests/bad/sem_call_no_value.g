def nothing(x) { y = x }
entry f(x : f32[4, 8]) {
  return z = x + nothing(x)
}
