def f(x) {
  return g(x,
}
let a = 1 2
