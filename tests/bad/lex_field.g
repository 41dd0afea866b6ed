def f(x) {
  y = x.T
  h = x.ndim + x.type
  z = h.size() + h[0].ndim
  return y.sum()
}
