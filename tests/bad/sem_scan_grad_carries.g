entry made_of_it(x : f32[3]) {                # the loss reads y by way of a carry alone
  y = x * 0.5
  c = zeros([3])
  scan i in 0..3 {
    y = y + grad(sum(c * c), y)
    c = 2 * y
  }
  return y
}
entry grown(x : f32[3], w : f32[3]) {
  scan i in 0..3 {
    g = grad(sum(x * x), w)
    x = x * w + g
  }
  return x
}
entry last_loss(w : f32[3]) {
  l = sum(zeros([3]))
  t = zeros([3])
  scan i in 0..3 {
    t = t + grad(l, w)
    l = sum(w * w)
  }
  return t
}
entry further_in(w : f32[3]) {
  t = zeros([3])
  scan i in 0..2 {
    y = w * 0.5
    a = zeros([3])
    scan j in 0..3 {
      t = t + grad(sum(a * a), y)
      a = a + y
    }
  }
  return t
}
entry two_iterations(x : f32[3]) {
  y = x * 0.5
  z = x * 0.25
  d = 2 * z
  c = x * 0.125
  s = zeros([3])
  scan i in 0..4 {
    s = s + grad(sum(c * y), y)
    c = d
    y = z
    z = z * 0.9
    d = 2 * z
  }
  return s
}
entry taken_over(x : f32[3], w : f32[3]) {
  t = zeros([3])
  scan i in 0..3 {
    t = t + grad(sum(x * w), x)
    x = w
  }
  return t
}
entry by_a_loop(x : f32[3], w : f32[3]) {
  t = zeros([3])
  scan i in 0..3 {
    y = x
    scan j in 0..2 { y = w }
    t = t + grad(sum(y * w), y)
  }
  return t
}
