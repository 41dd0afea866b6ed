def f(x) {
  while x < 3 {
    x = x + 1
  }
  return x
}
