entry f(x : f32[3]) {
  y = x
}
