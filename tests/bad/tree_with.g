def net(x) { return linear(x, 3) as fc }
entry f(x : f32[4, 3]) {
  y = net(x)
  with y { a = net(x) }
  with params("net") { b = y + 1 }
  with mean(params("net"), axis = 0) { c = net(x) }
  with params("net") > 0 { d = net(x) }
  return y
}
