# mnist.g: a two-layer perceptron that learns handwritten digits
let N = 64                                    # compile time;  gc -D N=128 overrides
hyper lr = 1e-3                               # run time;      becomes --lr of the program

def net(image : u8[n, 784]) {                 # n is bound by the argument's shape
  x = f32(image) / 255
  x = relu(linear(x, 256) as fc1)             # parameters net.fc1.w and net.fc1.b
  return linear(x, 10) as fc2
}

entry train(image : u8[n <= N, 784], label : u8[n]) {
  logits = net(image)
  loss = mean(xent(logits, label))
  minimize loss with adamw(lr, decay = 0.01)
  return loss, accuracy = mean(argmax(logits) == label)
}

entry test(image : u8[n <= N, 784], label : u8[n]) {  # same paths, same weights
  return accuracy = mean(argmax(net(image)) == label)
}

entry predict(image : u8[1, 784]) {
  return digit = argmax(net(image)), p = softmax(net(image))
}
