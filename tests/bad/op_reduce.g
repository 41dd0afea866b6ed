# axes that are not there, not whole, or named twice
entry axes(x : f32[3, 4]) {
  y = sum(x, axis = 2)
  y = mean(x, axis = [0, -2])
  y = var(x, axis = -3)
  y = prod(x, axis = 0.5)
  y = max(x, axis = [2])
  y = min(x, axis = x)
  y = argmax(x, axis = 5)
  y = argmin(x, axis = [0, 1])
  y = cumsum(x, axis = 2)
  y = softmax(x, axis = 2)
  y = log_softmax(x, axis = -3)
  y = sort(x, axis = 2)
  return y
}
