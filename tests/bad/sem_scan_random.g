entry f(x : f32[3]) {
  scan i in 0..3 { x = x + normal(shape = [3]) }
  return x
}
