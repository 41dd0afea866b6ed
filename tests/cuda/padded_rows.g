# Operands of products on tensor cores whose rows end at odd places, and are padded: gradients of many classes,
# activations of odd width, a batch, a product by itself; and by wgmma on sm_90a, across and along the depth.
def head(x, n) {
  param w : f32[n, 24] = normal(0.3)
  return (linear(x, 24) as a) @ w'
}
entry classes(x : f32[6, 12, 40], y : i32[6, 12]) {
  l = mean(xent(head(x, 257) as h, y % 257))
  minimize l with sgd(0.1)
  return l
}
entry odd_width(x : f32[70, 33], y : f32[70, 9]) {
  h = relu(linear(x, 301) as a)
  l = mean((linear(h, 9) as b - y) ** 2)
  minimize l with sgd(0.1)
  return l
}
entry batch(x : f32[3, 20, 263], w : f32[3, 263, 17], v : f32[3, 17, 263]) {
  a = relu(x * 2) @ w
  return a, b = softmax(x) @ v', c = (x + 1)' @ a
}
entry squared(x : f32[37, 453]) { return a = sigmoid(x) @ sigmoid(x)', b = sigmoid(x)' @ tanh(x) }
entry wide(x : f32[72, 257], w : f32[257, 64], v : f32[72, 136]) {
  a = relu(x)
  return y = a @ w, z = a' @ v
}
