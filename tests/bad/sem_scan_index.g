# indices that a for would know are checked as in a for, the first iteration that leaves the axis is named
entry f(x : f32[4, 3]) {
  h = x[0] * 0
  scan k in 0..7 { h = h + x[k] }
  scan k in 0..9 { h = h + x[3 - k] }
  scan k in -3..5 { h = h + x[k + 1] }
  scan i in 0..3 { scan j in 0..2 { h = h + x[2 * i - j] } }
  scan i in 0..3 { h = h + row(x, i + 2) }
  scan i in 0..3 { h = h + x[0, i + 1] }
  k = 3
  scan i in 0..2 { scan j in 0..2 { h = h + x[i + j + k] } }
  scan i in 0..3 { h = h + x[i + 1] + x[i - 4] + x[min(i, 9)] + x[i % 9] }
  scan i in 0..9 { h = h + x[0, i - 1] }
  return h
}
def row(x, at) { return x[at] }
