def f(x) {
  y = x.T
  return y.sum()
}
