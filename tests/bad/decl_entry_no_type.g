entry e(x, y : f32[2] = 3) {
  return x
}
