entry f(x : f32[4]) {
  return z = x
}
entry g(x : f32[4]) {
  return z = f(x)
}
