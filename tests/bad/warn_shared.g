# exit: 0
# args: --check
def block(x) { return relu(linear(x, 6) as fc) }
entry train(x : f32[4, 6]) {
  for i in 0..3 { x = block(x) as layer }
  for i in 0..3 { scope s { x = linear(x, 6) as fc } }
  y = block(x) as one
  z = block(y) as one
  h = x
  for i in 0..3 { h = block(h) as cell shared }
  scope t { h = linear(h, 6) as fc }
  scope t shared { h = linear(h, 6) as fc }
  w = (block(x) as same) + (block(x) as same)
  with 0.5 * params("one") { v = block(y) as one }
  minimize mean(z + h + w + v) with sgd(0.1)
  return y
}
entry test(x : f32[4, 6]) {
  for i in 0..3 { x = block(x) as layer }
  return x
}
