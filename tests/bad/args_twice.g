def f(x) {
  return g(x, a = 3, a = 4)
}
