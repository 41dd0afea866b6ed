entry f(x : f32[3]) {
  ys = scan i in 2..2 { yield x }
  return ys
}
