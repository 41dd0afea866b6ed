def down(x, n) {
  return x if n == 0 else down(x, n - 1)
}
entry f(x : f32[4]) {
  return y = down(x, 3)
}
