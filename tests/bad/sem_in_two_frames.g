def inner(x) { return x @ x }
def outer(x) { return inner(x) as first }
entry f(x : f32[3, 4]) {
  return y = outer(x)
}
