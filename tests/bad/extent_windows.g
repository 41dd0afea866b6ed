entry a(x : f32[n <= 4, 6]) { return y = prod(x, axis = 0) }
entry b(x : f32[2, t <= 6]) {
  v, i = topk(x, 2)
  return v, i
}
entry c(x : f32[2, 3, t <= 8, 8]) { return y = conv(x, 4, 3) as one }
entry d(x : f32[2, 3, 8, t <= 8]) { return y = max_pool(x, 2), z = avg_pool(x, 2) }
entry e(x : f32[2, 3, t <= 8]) { return y = conv1(x, 4, 3) as two }
