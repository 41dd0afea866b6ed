entry f(x : f32[3]) {
  s = 0
  scan i in 0..3 { s = s + sum(x) }
  return s
}
