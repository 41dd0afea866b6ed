entry f(x : f32[4, 3]) {
  d = params(3)
  e = states(path = true)
  g = params(path = 1)
  return x
}
let t = params("net")
