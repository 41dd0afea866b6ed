entry f(x : f32[4, 6], y : f32[4, 6]) {
  a = x.sum(dim=1, keepdim=True)
  b = (x @ y').mean( dim = [0, 1] ) + x.mean().exp()
  c = y.clamp(
    0)
  d = x[0].topk(k=3, dim=1)
  return a
}
