state a = like 3
state b = like net
state c = like params(3)
param d = like params("net")
entry f(x : f32[4, 3]) {
  state e = like params("net")
  return x
}
