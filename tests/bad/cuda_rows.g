# args: --emit=cuda
entry f(x : f32[3000000000, 1], w : f32[1, 1]) {
  return y = x @ w
}
