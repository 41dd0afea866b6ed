entry f(logits : f32[4]) {
  return z = softmax(logit)
}
