def net(x) { return linear(x, 3) as fc }
def other(x) { return linear(x, 3, bias = false) as fc }
entry f(x : f32[4, 3]) {
  y = net(x) + other(x)
  a = params("net") - params("other")
  b = where(true, params("net"), params("net")) * params("net.fc.b")
  c = clamp(params("net"), 0, params("other"))
  return y
}
