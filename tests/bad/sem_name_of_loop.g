entry f(x : f32[4]) {
  for i in 0..3 {
    y = x * i
  }
  return y
}
