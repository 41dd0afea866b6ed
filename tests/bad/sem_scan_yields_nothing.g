entry f(x : f32[3]) {
  ys = scan i in 0..3 { x = x * 2 }
  return ys
}
