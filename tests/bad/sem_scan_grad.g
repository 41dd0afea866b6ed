entry f(x : f32[3]) {
  scan i in 0..3 { x = x - grad(sum(x * x), x) }
  return x
}
