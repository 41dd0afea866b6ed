entry run(x : f32[4]) {
  transient param w : f32[4] = zeros()
  return y = x * w
}
