entry f(x : f32[3]) {
  if sum(x) > 0 { x = x * 2 }
  return y = x
}
