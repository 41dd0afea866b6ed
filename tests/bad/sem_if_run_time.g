entry f(x : f32[3]) {
  if sum(x) > 0 { x = x * 2 }
  return y = x
}
entry g(x : f32[3]) {
  s = sum(x)
  return y = x if s > 0 else -x
}
