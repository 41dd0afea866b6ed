entry f(x : f32[4, 8], i : i32) {
  return y = x[i]
}
