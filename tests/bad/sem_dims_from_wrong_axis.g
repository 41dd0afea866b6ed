entry f(x : f32[3, 4]) {
  return y = zeros([dim(x, 2), 3])
}
