def f(a, b) {
  if a && b || !a { a = b }
  return a
}
