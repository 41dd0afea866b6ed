def f(x) {
  y = g(x, 2
  z = 3
  return y + z
}
