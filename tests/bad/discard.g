entry f(x : f32[4, 6]) {
  _, b, _ = split(x, 3, axis = 1)
  for i in 0..2 { _, b = topk(b, 2) }
  return b, y = _ + 1
}
