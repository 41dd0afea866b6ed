entry f(x : f32[3]) {
  yield x
  return y = x
}
