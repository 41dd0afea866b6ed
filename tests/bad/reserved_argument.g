def f(in, out) {
  return out
}
