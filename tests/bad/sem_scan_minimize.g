entry f(x : f32[3]) {
  param w : f32[3] = zeros()
  scan i in 0..3 { minimize sum(w * x) with sgd(0.1) }
}
