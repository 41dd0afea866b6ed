def f(x) {
  y = g(x, 2
  return y
}
let a = 1 2
