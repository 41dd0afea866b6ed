# What is computed otherwise, drawn anew, or changed by the loop is another argument.
entry other(x : f32[4, 3]) {
  s = linear(x * 2, 3)
  scan i in 0..3 { s = s + linear(x * 3, 3) }
  return s
}
entry changed(x : f32[4, 3]) {
  s = linear(x * 2, 3)
  scan i in 0..3 {
    s = s + linear(x * 2, 3)
    x = x + 1
  }
  return s
}
entry drawn(x : f32[4, 3]) {
  return a = linear(x + uniform(shape = [4, 3]), 3), b = linear(x + uniform(shape = [4, 3]), 3)
}
entry listed(x : f32[4, 3]) {
  return a = both([x, x * 2]), b = both([x, x * x])
}
def both(xs) { return linear(xs[0] + xs[1], 3) }
