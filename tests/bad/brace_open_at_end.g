def f(x) {
  if x {
    y = 3
}
