entry f(x : f32[4], i : i32[4]) {
  return g = grad(sum(x), i)
}
