# arguments and conditions of Keras and JAX
entry k(x : f32[8, 10, 4]) {
  a = linear(x, 64, relu) as a
  b = lstm(x, 32) as b
  c = gru(x, x, return_sequences = true) as c
  d = conv(x, 16, [3, 3], data_format = "channels_last") as d
  e = softmax(x, dims = 1)
  g = x[1:end]
  return a
}
def loss(x) { return sum(x ** 2) }
entry j(x : f32[8, 4]) {
  g = grad(loss, x)
  if sum(x) > 0 { z = x } else { z = -x }
  return g, z
}
