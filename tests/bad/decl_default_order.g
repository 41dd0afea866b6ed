def f(a = 3, b) {
  return a
}
