hyper lr = 0.1
entry f(x : f32[2, 4], h : f16[2, 4], d : f64[2, 4], b : bf16[2, 4]) {
  a = h * lr + 0.5
  c = d * cosine(lr, 100, warmup = 10)
  e = x + h
  g = h + b
  i = x * d
  j = linear(h, 3) as l1
  k = x @ h'
  l = where(x > 0, x, h)
  m = mse(h, x)
  o = max(b, x)
  p = lr * mean(x) * h
  return a, c
}
