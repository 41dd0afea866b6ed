# args: --emit=cuda
entry f(x : f32[t <= 9, 3]) {
  s = zeros([3])
  scan i in 0..t { s = s + x[i] }
  return s
}
