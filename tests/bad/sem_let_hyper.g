hyper lr = 0.1
let half = lr / 2
entry f(x : f32[3]) {
  return y = x * half
}
