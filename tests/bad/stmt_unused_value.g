def f(x) {
  x
  3 + 4
  return x
}
