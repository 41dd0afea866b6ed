def f(x) {
  scope { x = 3 }
  scope h[ { x = 3 }
  return x
}
