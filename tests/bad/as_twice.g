def f(x) {
  return (linear(x, 3) as a) as b
}
