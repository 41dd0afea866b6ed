# words in the place of a type: what an argument must be
def net(x : floats, units : count, bias : flag = true) { return linear(x, units, bias) }
def add(x, ...more : tensor) { return x }
entry f(i : i32[4, 3], x : f32[4, 3]) {
  a = net(i, 2)
  b = net(x, 0)
  c = net(x, x)
  d = net(x, 2, 1)
  e = net(x, none)
  g = add(x, "s")
  h = add(x, more = x)
  param w : floats = 1
  j = x : int
  k = net(x, 1.5)
  return a
}
entry g(x : floats) { return x }
