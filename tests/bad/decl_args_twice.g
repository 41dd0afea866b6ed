def f(x, y, x) {
  return x
}
