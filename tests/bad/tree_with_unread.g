def net(x) { return linear(x, 3) as fc }
entry f(x : f32[4, 3]) {
  y = net(x)
  with params("net") { b = y + 1 }
  return y
}
