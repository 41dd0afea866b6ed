entry f(x : f32[3]) {
  return y = x
  z = x
}
entry g(x : f32[3]) {
  return y = x
  return z = sum(x)
}
