entry f(t0 : f32[3, 2147483648, 1]) {
  y = sort(t0, axis = 0)
  return y = y, d = grad(sum(f32(y)), t0)
}
