entry info(x : f32[3]) {
  return y = x
}
