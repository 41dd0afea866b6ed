def net(x) { return linear(x, 3) as fc }
state ema = like params("other")
entry f(x : f32[4, 3]) {
  y = net(x)
  a = params("nte")
  b = states("net")
  with ema { c = net(x) }
  d = norm(ema)
  return y
}
