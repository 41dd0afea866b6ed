def net(x) { return linear(x, 8) as fc }
entry a(x : f32[4, 8]) {
  return y = net(x)
}
entry b(x : f32[4, 9]) {
  return y = net(x)
}
