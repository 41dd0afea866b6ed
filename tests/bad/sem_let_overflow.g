let big = 2 ** 62 * 2
entry f(x : f32[3]) {
  return y = x * big
}
