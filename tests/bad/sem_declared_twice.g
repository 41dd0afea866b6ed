let n = 3
def n(x) { return x }
entry f(x : f32[3]) {
  return y = x
}
