def f(x) {
  return x + scope
}
