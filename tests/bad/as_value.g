def f(x) {
  y = 3 as three
  z = relu as act
  return y + z
}
