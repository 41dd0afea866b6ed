entry f(x : f32[3]) {
  return y = x + [1, 2, 3]
}
entry g(x : f32[3]) {
  return y = x + stack([1.5, 2, 3])
}
