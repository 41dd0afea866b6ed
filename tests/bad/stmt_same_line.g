def f(x) {
  y = 3 z = 4
  if x { y = 3 } z = 4
  return y
}
