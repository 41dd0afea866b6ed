def f(x) {
  if x = 3 { x = 2 }
  return x
}
