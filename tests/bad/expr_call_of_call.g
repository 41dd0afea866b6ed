def f(x) {
  return g(x)(3)
}
