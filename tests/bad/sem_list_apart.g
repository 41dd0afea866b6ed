# integers one by one where a list is taken, and where none would help
entry f(x : f32[8, 4, 2]) {
  a = zeros(8, 4)
  b = reshape(x, 8, 8)
  c = sum(x, 0, 1)
  d = const(0.5, 8, 4)
  g = full(8, 4, 0)
  h = softmax(x, 1, 2)
  k = sum(x, [0], 1)
  return x
}
