let n = 4
entry f(x : f32[n - 4]) {
  return y = x
}
entry g(x : f32[-1, 10]) {
  return y = zeros([-1])
}
