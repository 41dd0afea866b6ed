def f(x) {
  return g(a = 3, x)
}
