entry f(x : f32[3, 4, 5], w : f32[2, 5, 6]) {
  return z = x @ w
}
