def first(x) {
  scan i in 0..3 { return x }
}
entry f(x : f32[3]) {
  return y = first(x)
}
