entry f(x : f32[64, 256], y : f32[128]) {
  return z = x + y
}
entry centred(x : f32[4, 2, 10]) {
  return y = x - mean(x, axis = -1), z = x - mean(x, axis = 1)
}
entry weighted(x : f32[4, 2, 10], w : f32[4, 2]) {
  return y = x * w, z = w[:, 0] * x[:, 0]
}
