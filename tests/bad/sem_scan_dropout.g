entry f(x : f32[3]) {
  param w : f32[3] = zeros()
  h = x
  scan i in 0..3 { h = dropout(h * w, 0.5) }
  minimize sum(h) with sgd(0.1)
}
