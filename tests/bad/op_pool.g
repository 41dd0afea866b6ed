# windows, and the numbers of channels
entry f(x : f32[2, 4, 8, 8], n : i32[2, 4, 8, 8], b : bool[2, 4, 8, 8]) {
  y = max_pool(x, 0)
  y = max_pool(x, [2, 2, 2])
  y = max_pool(x, 9)
  y = max_pool(x, 2, stride = 0)
  y = max_pool(x, 2, pad = 2)
  y = max_pool(x, 3, dilation = 4)
  y = max_pool(x, 2, ceil = 1)
  y = max_pool(b, 2)
  y = max_pool(x[0, 0], 2)
  y = avg_pool(x, 2, stride = [2, 0])
  y = avg_pool(x, 2, pad = "half")
  y = avg_pool(x, 2, ceil = "yes")
  y = avg_pool(x, 2, count_include_pad = 0)
  y = avg_pool(n, 2)
  y = avg_pool(x, 2, dilation = 2)
  return y
}
entry g(x : f32[2, 4, 8], m : f32[4], u : f32[3]) {
  y = batch_norm(x, u, m)
  y = batch_norm(x, m, m, scale = u)
  y = batch_norm(x, m, m, shift = x)
  y = batch_norm(x, m, m, eps = -1)
  return y
}
