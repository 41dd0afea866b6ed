// a comment of another language
entry f(x : f32[4, 6] y : f32[4]) {
  // and one within a block
  h = linear(x 10)
  return h
}
entry g(x : f32(4, 6), y : f32[4]) { return x }
entry h(f32[4, 6] x) { return x }
