entry before(x : f32[3], w : f32[3]) {
  h = w * 2
  scan i in 0..3 { x = x + grad(sum(h * w), w) }
  return x
}
entry another_name(x : f32[3]) {
  start = x
  scan i in 0..3 { x = x - grad(sum((x - start) ** 2), x) }
  return x
}
entry outer(x : f32[3], w : f32[3]) {
  loss = sum(w * w)
  scan i in 0..3 { scan j in 0..2 { x = x - grad(loss, w) } }
  return x
}
entry two_carries(x : f32[3], w : f32[3]) {
  y = x * w
  c = zeros([3])
  scan i in 0..3 {
    y = y + grad(sum(c * y), y)
    c = 2 * y
  }
  return y
}
entry well(x : f32[3]) {                      # this one counts what it says
  start = x
  scan i in 0..3 { x = x - grad(sum((x - stop_gradient(start)) ** 2), x) }
  return x
}
