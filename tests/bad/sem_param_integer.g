entry f(x : f32[8]) {
  param w : i32[8] = zeros()
  return y = x + f32(w)
}
