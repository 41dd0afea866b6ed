# what reductions keep, and what the larger of two values takes
entry f(x : f32[3, 4], n : i32[3], b : bool[3]) {
  y = sum(x, keep = 1)
  y = mean(x, keep = x)
  y = var(x, axis = 0, keep = 2)
  y = prod(x, keep = "yes")
  y = max(x, keep = 1)
  y = min(x, axis = 0, keep = [true])
  y = max(x, y = n)
  y = max(x, y = f32(n))
  y = min(x, y = b)
  y = min(n, y = 0.5)
  y = max(x, x, axis = 0)
  y = mean("x")
  y = argmin(3)
  y = softmax(n)
  y = log_softmax(b)
  return y
}
