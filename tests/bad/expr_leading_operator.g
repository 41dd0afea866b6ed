def f(x) {
  y = x
    + 3
  z = x
    - 3
  return y + z
}
