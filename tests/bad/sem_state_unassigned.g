# args: --emit=ir --passes=
# exit: 0
# The statistics are gathered at one path and read at another, where they keep their initial values: net calls scaled
# from within.
let n = 4
def scaled(x : [n, d], fit = false) {
  state center : f32[d] = zeros()
  if fit { center := mean(x, axis = 0) }
  return x - center
}
def net(x) { return linear(scaled(x), 3) as out }
entry fit(x : f32[n, 6]) { unused = scaled(x, fit = true) }
entry predict(x : f32[n, 6]) { return y = net(x) }
# a state that nobody assigns anywhere is a constant of a file of weights: no warning
def shifted(x : [n, d]) {
  state offset : f32[d] = zeros()
  return x + offset
}
entry shift(x : f32[n, 6]) { return y = shifted(x), z = shifted(x) as other }
