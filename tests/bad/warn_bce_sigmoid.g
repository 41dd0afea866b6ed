# exit: 0
# args: --check
entry train(x : f32[4, 3], y : f32[4]) {
  p = sigmoid(linear(x, 1))
  loss = bce(p[:, 0], y) + kl(x, softmax(x))
  minimize loss with sgd(0.1)
  return loss, drawn = categorical(softmax(x))
}
def bce2(logits, y) { return bce(logits, y) }
entry fine(x : f32[4, 3], y : f32[4, 3]) { return loss = bce2(x, sigmoid(y)), part = bce(sigmoid(x) * 2, y), kl(log_softmax(x), y) }
