# perceptron.g: two layers and their gradients, small enough to follow every byte (docs/memory.md)
entry step(x : f32[64, 100], label : u8[64]) {
  param w1 : f32[100, 80] = glorot()
  param w2 : f32[80, 10] = glorot()
  h = sigmoid(x @ w1)
  p = softmax(h @ w2)
  loss = sum(log(p) * one_hot(label, 10))
  return dw1 = grad(loss, w1), dx = grad(loss, x)
}
