entry f(x : f32[3]) {
  ys = for i in 0..3 { yield x[0:i + 1] }
  return ys
}
