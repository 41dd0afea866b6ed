# Element-wise work behind products and convolutions that reads and stores halves beside f32, in columns that fill no
# register: some rows at a time, one behind the other or apart, with NaN, infinities and functions of arrays.
entry products(x : f32[23, 40], w : f32[40, 30], v : f32[40, 84], r : bf16[23, 30], s : f16[23, 84]) {
  y = relu(x @ w + f32(r))
  z = x @ v * 3 + f32(s)
  e = exp(x @ w) * f32(r)
  return y, h = bf16(y), g = f16(y * 9), z, n = bf16(sqrt(z)), i = f16(z * 9e4), e, k = bf16(e)
}
entry narrow(x : f32[3, 19], w : f32[19, 5], v : f32[19, 130], r : bf16[3, 5]) {
  y = x @ w - f32(r)
  z = sigmoid(x @ v)
  return h = bf16(y), g = f16(y), z, k = f16(z)
}
entry images(x : f32[2, 3, 9, 11], r : bf16[2, 6, 9, 11], s : f16[2, 20, 5, 6]) {
  y = (conv(x, 6, 5) as a) + f32(r)
  z = relu((conv(x, 20, 5, stride = 2) as b) - f32(s))
  return y, h = bf16(sqrt(y)), z, g = f16(z), k = bf16(tanh(conv(x, 7, 5) as c))
}
entry weights(x : f32[2, 3, 9, 11], w : f32[2, 6, 9, 11]) { # with the weights' own update
  y = sigmoid(conv(x, 6, 5) as d)
  return h = bf16(y), dx = bf16(grad(sum(y * w), x))
}
