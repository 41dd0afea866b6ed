def net(x) { return linear(x, 4) as out }
entry train(x : f32[4, 4], label : u8[4]) {
  loss = mean(xent(net(x), label))
  minimize loss with sgd(0.1)
  return loss, accuracy = mean(argmax(net(x)) == label)
}
