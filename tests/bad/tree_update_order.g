def net(x) { return linear(x, 3) as fc }
entry f(x : f32[4, 3]) {
  minimize mean(net(x)) with clip = 1, sgd(0.1)
  minimize mean(net(x)) with clip = 1
  return x
}
