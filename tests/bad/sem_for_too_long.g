entry f(x : f32[3]) {
  for i in 0..2000000 { x = x * 2 }
  return y = x
}
