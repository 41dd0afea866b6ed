entry f(x : f32[4, 6], y : f32[4, 6]) {
  a = torch.cat([x, y], dim = 1)
  return a
}
