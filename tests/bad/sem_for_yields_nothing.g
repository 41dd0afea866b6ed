entry f(x : f32[3]) {
  ys = for i in 0..3 {
    if i < 2 { yield x * i }
  }
  return ys
}
