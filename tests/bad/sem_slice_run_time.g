# A place may be known at run time only, but not how many there are.
entry f(x : f32[4, 8], at : i32) { return y = x[at : at + 2], z = x[:, : at] }
entry g(x : f32[4, 8]) {
  h = zeros([1, 8])
  scan i in 0..4 { h = h + x[i : i + 1] }
  return h
}
