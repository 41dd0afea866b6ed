def f(x) {
  for i 0..3 { x = i }
  for i in 0...3 { x = i }
  for i in 3 { x = i }
  for i in 0..3
  return x
}
