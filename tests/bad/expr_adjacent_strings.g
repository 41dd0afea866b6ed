def f(x) {
  return einsum("a" "b", x)
}
