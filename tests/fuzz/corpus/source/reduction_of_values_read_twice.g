# Element-wise values between a convolution and a pool, each read twice: whether a tile can be computed is found once a
# value, not once a path.
entry go(x : f32[4, 3, 32, 32]) {
  h = conv(x, 64, 3, pad = 1) as c
  a = h
  b = relu(h)
  for k in 0..200 {
    c = tanh(a + b)
    a = b
    b = c
  }
  return y = max_pool(b, 2, 2)
}
# CHECK-LABEL: entry go
# CHECK-COUNT-400: tanh
# CHECK: dynamic_update
