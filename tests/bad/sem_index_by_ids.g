entry f(x : f32[4, 8], ids : i32[3]) {
  return y = x[ids]
}
