entry yielded(x : f32[3]) {
  h = x
  hs = scan i in 0..4 {
    h = tanh(h)
    yield h
  }
  return g = grad(sum(hs * hs) + sum(h), h)
}
entry carried(x : f32[3]) {
  h = x
  c = zeros([3])
  scan i in 0..4 {
    h = tanh(h)
    c = c + 2 * h
  }
  return g = grad(sum(c * h), h)
}
entry well(x : f32[3]) {                      # these count what they say
  h = x
  c = zeros([3])
  hs = scan i in 0..4 {
    c = c + 2 * h
    h = tanh(h)
    yield h
  }
  return by_h = grad(sum(h * h * c), h), by_c = grad(sum(c * h), c), by_rows = grad(sum(hs * h), hs),
         by_last = grad(sum(stop_gradient(hs)) + sum(h), h), by_first = grad(sum(hs * h * c), x)
}
entry only_taken_over(x : f32[3], w : f32[3]) {
  scan i in 0..3 { x = w }
  return grad(sum(x * w), x)
}
