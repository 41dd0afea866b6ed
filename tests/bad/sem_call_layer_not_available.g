def net(x) {
  return conv(x, 16, 3) as stem
}
entry f(x : f32[1, 3, 8, 8]) {
  return y = net(x)
}
