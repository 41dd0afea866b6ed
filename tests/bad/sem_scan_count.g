entry f(x : f32[3]) {
  n = 1
  scan i in 0..3 {
    n = n * 2
    x = x * n
  }
  return x
}
