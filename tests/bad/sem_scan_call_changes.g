# Where nothing is trained, an unnamed call is the same one in each iteration only if its arguments are.
entry carried(x : f32[4, 3]) {
  scan i in 0..3 { x = x + linear(x, 3) }
  return x
}
entry counted(x : f32[4, 3]) {
  s = zeros([4, 3])
  scan i in 0..3 { s = s + linear(x * f32(i), 3) }
  return s
}
entry around(x : f32[4, 3]) {
  s = zeros([4, 3])
  scan i in 0..3 {
    y = x * 2
    scan k in 0..2 { s = s + linear(y + f32(i), 3) }
  }
  return s
}
entry drawn(x : f32[4, 3]) {
  s = zeros([4, 3])
  scan i in 0..3 { s = s + linear(x + uniform(shape = [4, 3]), 3) }
  return s
}
entry other(x : f32[4, 3]) {
  s = linear(x, 3)
  scan i in 0..3 { s = s + linear(x + 1, 3) }
  return s
}
entry of_state(x : f32[4, 3]) {
  state m : f32[4, 3] = zeros()
  s = zeros([4, 3])
  scan i in 0..3 {
    s = s + linear(m, 3)
    m := m + x
  }
  return s
}
