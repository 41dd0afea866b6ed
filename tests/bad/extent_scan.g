entry f(x : f32[n <= 8, t <= 6]) {
  s = zeros([n])
  scan i in 1..t { s = s + x[:, i] }
  scan i in 0..t - 1 { s = s + x[:, i] }
  scan i in 0..n * t { s = s + 1 }
  return s
}
entry g(x : f32[n <= 8, t <= 6]) {
  s = zeros([n])
  scan i in 0..t { s = s + uniform(shape = [n]) }
  return s, u = uniform(shape = [n])
}
entry h(x : f32[n <= 8, t <= 6]) {
  s = zeros([n])
  scan k in 0..3 {
    scan i in 0..t { s = s + uniform(shape = [n]) }
  }
  return s
}
