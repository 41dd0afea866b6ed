# The same mistake, met again by the second entry, is said once and by nothing else.
def opt(p, g) { p := p - g * unknown }
def net(x) { return linear(x, 2) as fc }
entry a(x : f32[2, 4]) {
  loss = sum(net(x))
  minimize loss with opt()
  return loss
}
entry b(x : f32[2, 4]) {
  loss = mean(net(x))
  minimize loss with opt()
  return loss
}
