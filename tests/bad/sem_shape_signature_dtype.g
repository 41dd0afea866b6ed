def net(x : f32[n]) {
  return x
}
entry f(x : f64[4]) {
  return y = net(x)
}
