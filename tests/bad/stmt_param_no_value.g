entry f(x : f32[8, 4]) {
  param w : f32[4, 4]
  state s : f32
  return y = x @ w + s
}
let N
