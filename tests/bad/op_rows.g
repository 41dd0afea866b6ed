# rows, labels and ids
entry f(x : f32[3, 4], n : i32[3], h : f16[3, 4]) {
  y = xent(x, x)
  y = xent(n, n)
  y = xent(x, n, 3)
  y = xent(x, i32(x))
  y = gather(x, x)
  y = gather(x)
  y = gather(x, n, batch = -1)
  y = gather(x, n, batch = 2)
  y = layer_norm(x, eps = -1)
  y = layer_norm(x, eps = x)
  y = rms_norm(x, eps = "small")
  y = rms_norm(n)
  y = stop_gradient(n)
  y = stop_gradient("x")
  y = topk(x, 5)
  y = topk(x, 0)
  y = sort("x")
  y = dropout(x, 1.5)
  y = dropout(n, 0.5)
  return y
}
