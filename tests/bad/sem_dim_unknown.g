def g(x : f32[n, 4]) {
  param w : f32[units, 4] = zeros()
  return x @ w'
}
entry f(x : f32[batch, 4]) { return y = x }
entry h(x : f32[8, 4]) { return y = g(x) }
