let A = B + 1
let B = A + 1
entry f(x : f32[3]) {
  return y = x + A
}
