entry f(x : f32[8, 30]) {
  return y = topk(x, 3)
}
