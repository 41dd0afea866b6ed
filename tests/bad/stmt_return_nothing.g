def f(x) {
  return
}
