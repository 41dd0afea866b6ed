# convolutions of f32 and their gradients on tensor cores, in bf16 and in tf32
entry single(x : f32[3, 20, 9, 7], w : f32[24, 20, 3, 3], b : f32[24, 1, 1], y : f32[3, 24, 9, 7]) {
  z = relu(conv2d(x, w, 1, 1) + b)
  dx, dw, db = grad(sum(z * y), [x, w, b])
  return z, dx, dw, db
}
entry single_groups(x : f32[2, 12, 9, 8], w : f32[18, 6, 3, 2], y : f32[2, 18, 5, 4]) {
  z = conv2d(x, w, 2, [1, 0], groups = 2)
  dx, dw = grad(sum(z * y), [x, w])
  return z, dx, dw
}
# weights, which a convolution rounds itself: in whole chunks and not, in groups, with a stride
entry weights(x : f32[2, 24, 9, 7], y : f32[2, 18, 4, 3]) {
  param v : f32[10, 24, 3, 3] = normal(std = 0.1)
  param w : f32[18, 5, 3, 3] = normal(std = 0.1)
  z = conv2d(relu(conv2d(x, v, 1, 1)), w, 2, 0, groups = 2)
  dx, dv, dw = grad(sum(z * y), [x, v, w])
  return z, dx, dv, dw
}
# k-tiles of one tap, of which a block leaves out those that its pixels do not have: some phases of the last one have none
entry by_taps(x : f32[2, 64, 9, 8], y : f32[2, 34, 5, 4]) {
  param f : f32[32, 64, 3, 3] = normal(std = 0.1)
  param g : f32[34, 32, 1, 1] = normal(std = 0.1)
  z = conv2d(relu(conv2d(x, f, 1, 1)), g, 2, 0)
  dx, df, dg = grad(sum(z * y), [x, f, g])
  return z, dx, df, dg
}
