def f(x) {
  if x == 1 { x = 2 } elif x == 2 { x = 3 }
  return x
}
