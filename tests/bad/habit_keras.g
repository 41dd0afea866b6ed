# as Keras and TensorFlow write it
def net(x) {
  x = conv(x, filters = 32, kernel_size = 3, strides = 2) as c1
  x = max_pool(x, pool_size = 2)
  x = linear(flatten(x), 64, activation = "relu", kernel_initializer = "he_normal") as fc
  x = dropout(x, rate = 0.1)
  return x
}
entry train(x : f32[8, 3, 28, 28], y : i32[8]) {
  p = net(x)
  q = linear(reshape(x, [8, -1]), 4, activation = "relu") as q
  loss = sparse_categorical_crossentropy(y, p)
  other = binary_crossentropy(one_hot(y, depth = 10), p)
  minimize loss with adam(1e-3, beta_1 = 0.9)
  return loss
}
