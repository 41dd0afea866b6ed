def twice(x) { return 2 * x }
entry f(x : f32[4]) {
  return z = twice(x, 3)
}
