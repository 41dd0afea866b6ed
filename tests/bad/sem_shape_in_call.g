def net(x) {
  h = relu(linear(x, 32) as fc1)
  return h + x
}
entry f(x : f32[8, 16]) {
  return y = net(x)
}
