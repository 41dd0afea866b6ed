def net(x) {
  param w : f32[2] = zeros() from 'a'
  return x * w
}
entry f(x : f32[2]) { return y = net(x) }
