entry f(x : f32[8]) {
  for i in range(3) { x = x + i }
  ys = scan i in x { yield x[i] }
  return x
}
