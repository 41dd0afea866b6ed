def net(x) { return linear(x, 3) as fc }
entry f(x : f32[4, 3]) {
  y = net(x)
  p = params("net")
  a = p[0]
  b = p["net.fc1"]
  c = sum(p, axis = 0)
  d = norm(p, keep = true)
  e = norm(x > 0)
  g = norm(x, axis = 2)
  h = norm(p > 0)
  i = path(2 * x)
  j = path(x)
  l = sum(p, keep = true)
  m = rank("x")
  return p, q = rank(p)
}
