def f(x) {
  let a = 3
  def g(y) {
    return y
  }
  use "a.g"
  return x
}
