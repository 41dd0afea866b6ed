hyper warmup = 10
entry train(x : f32[4, 3]) {
  minimize mean(linear(x, 2) as a) with adamw(cosine(0.1, 100, warmup = warmup))
  return y = x
}
