entry f(x : f32[n <= 8, 4]) {
  y = x
  for i in 0..n { y = y + x }
  return y
}
