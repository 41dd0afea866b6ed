# a list stands in brackets, values that are returned in nothing
entry f(x : f32[2, 3, 4]) {
  y = sum(x, axis = (0, 1))
  for i in (0, 3) { y = y + 1 }
  (a, b) = split(x, 3, axis = 1)
  return (a, b)
}
