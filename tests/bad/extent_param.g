def net(x : f32[n, 4]) {
  param w : f32[n, 4] = zeros()
  return x * w
}
entry f(x : f32[n <= 8, 4]) { return y = net(x) }
