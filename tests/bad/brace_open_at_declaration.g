def f(x) {
  if x {
    y = 3
  return y
}

def g(x) {
  return x
}
let a = 1 2
