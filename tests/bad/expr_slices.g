def f(x) {
  y = x[]
  return x[0:1:2:3]
}
