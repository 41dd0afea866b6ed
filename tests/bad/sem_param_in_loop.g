def net(x) {
  for i in 0..3 {
    param w : f32[8] = ones()
    x = x * w
  }
  return x
}
entry f(x : f32[8]) {
  return y = net(x)
}
