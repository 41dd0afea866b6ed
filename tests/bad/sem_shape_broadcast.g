entry f(x : f32[64, 256], y : f32[128]) {
  return z = x + y
}
entry centred(x : f32[4, 2, 10]) {
  return y = x - mean(x, axis = -1), z = x - mean(x, axis = 1)
}
