# exit: 0
# args: --check
def net(x) { return softmax(linear(x, 5)) }
entry direct(x : f32[4, 3], label : i32[4]) {
  loss = mean(xent(net(x), label))
  minimize loss with sgd(0.1)
  return loss
}
entry within(x : f32[4, 3], label : i32[2, 2]) {
  loss = cross_entropy(reshape(net(x), [2, 2, 5]), label)
  minimize loss with sgd(0.1)
  return loss
}
entry logits(x : f32[4, 3], label : i32[4]) {
  return loss = mean(xent(log_softmax(x), label)), other = mean(xent(softmax(x, axis = 0) + x, label))
}
