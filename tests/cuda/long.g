# what takes several launches, or tiles, on a GPU alone: long rows to sort, tables of many ids, long lines, channels
entry running(z : f32[4501], h : f16[2, 300, 3], i : i64[3, 40, 33]) { return a = cumsum(z), b = cumsum(h, axis = 1), c = cumsum(i, axis = 1) }
# chunks of few long lines, those of several groups; and of lines that are not few
entry chunks(x : f32[3, 8500], u : f32[3, 8500], y : f16[1100, 5], z : f64[2, 1301, 40], w : f32[1100, 300]) {
  return a = grad(sum(cumsum(x) * u), x), b = cumsum(y, axis = 0), c = cumsum(z, axis = 1), d = cumsum(w), e = cumsum(i64(y), axis = 0)
}
entry bounded_chunks(x : f32[n <= 3, c <= 8500], y : f32[t <= 2100, 3], u : f32[t, 3]) {
  return a = cumsum(x), b = cumsum(y, axis = 0), c = grad(sum(cumsum(y, axis = 0) * u), y)
}
# passes of few rows of several chunks, and of more than a group of them
entry passes(x : f32[2, 16800], h : f16[1, 33000], d : f64[1, 17000], g : f32[16800], t : i32[2], i : i32[2, 16999]) {
  l = xent(x * 3, abs(t) % 16800)
  return l, s = softmax(x), z = log_softmax(h), w = softmax(d), n = layer_norm(x) * g, a = argmax(x % 0.5), b = argmin(h), c = argmax(i % 10), e = argmax(d)
}
entry pass_grads(x : f32[2, 16800], u : f32[2, 16800], t : i32[2]) {
  return a = grad(sum(softmax(x) * u), x), b = grad(sum(layer_norm(x) * u), x), c = grad(sum(xent(u, abs(t) % 16800)), u)
}
entry pass_bounded(x : f32[n <= 3, c <= 34000]) { return s = softmax(x), a = argmax(x), m = layer_norm(x) }
entry pass_groups(x : f32[1, 1050000]) { return m = logsumexp(x, axis = 1), a = argmax(x % 100) }
entry sorted(x : f32[2, 5000], h : bf16[2, 2049], i : i32[4100]) {
  u, ties = topk(i % 4, 50)
  return u, ties, a = sort(x), b = argsort(h)
}
entry table(t : f32[300, 10], i : i32[3000], w : f32[3000, 10], h : bf16[33, 7], k : i64[4100], q : i64[3, 600], z : f32[3, 30]) {
  a = gather(t, abs(i) % 300)
  b = gather(h, abs(k) % 33)
  return d = grad(sum(a * w), t), e = grad(sum(f32(b * b)), h), f = grad(sum(take_along(z, abs(q) % 30) ** 2), z)
}
entry channels(x : f32[8, 6, 41, 43], m : f32[6, 1, 1], y : f64[3, 40, 7, 7]) {
  return a = sum((x - m) ** 2, axis = [0, 2, 3]), b = max(x, axis = [0, 2, 3]), c = sum(y, axis = [0, 2, 3]), d = argmax(y, axis = 1)
}
entry columns(x : f32[5000, 70], b : f32[70], i : i32[3000, 40], y : bool[3000, 40], z : f64[30000, 3]) {
  return a = sum(x, axis = 0) * 0.5 + b, c = sum(i, axis = 0), d = max(y, axis = 0), e = sum(z, axis = 0), f = prod(z / 10 + 1, axis = 0),
         g = argmin(z, axis = 0)
}
# what waits for a sum over a tensor has a launch of its own
entry clip(x : f32[200, 101], y : f32[200, 101], s : f32[]) {
  n = sum(x * x) + s
  return n, z = x / sqrt(n + 1) + y, m = sum(y)
}
entry scaled(x : f32[3, 17000], y : f32[3, 17000]) {
  n = sum(abs(x), axis = 1, keep = true)
  return z = x / (n + 1) + y
}
entry one_chunk(x : f32[70, 100], y : f32[90, 91], z : f32[91, 90], u : f32[5, 9000]) {
  return a = x / sqrt(sum(x * x)), b = (y + z') / (sum(abs(y)) + 1), c = sum(u, axis = 1) * 2
}
entry wide_table(t : f32[8192, 68], i : i32[600], w : f32[600, 68]) { return d = grad(sum(gather(t, i) * w), t) } # a thread adds two elements
# products of few rows: several chains of the depth, and more than a thread block has warps
entry thin(x : f32[1, 8200], w : f32[8200, 3], u : f32[5, 1030], v : f32[33, 1030], d : f64[3, 1100], z : f64[1100, 34]) {
  return a = relu(x @ w + 1), b = u @ v', c = d @ z
}
# few rows, of more results than a warp has registers for
entry few_rows(x : f32[3, 2048], y : f32[2, 2500], z : f16[5, 4104], g : f32[2048], h : f32[2500], v : f64[1, 1500]) {
  return a = rms_norm(x) * g, b = softmax(y * h + 1), c = softmax(z), d = layer_norm(v)
}
entry few_bounded(x : f32[n <= 3, c <= 3000]) { return a = softmax(x) }
# Sums of several tensors of one shape are one kernel, whose tiles are shorter; the last chunk of each is, too.
entry norms(a : f32[130, 257], b : f32[130, 257], c : f32[130, 257], d : f64[130, 257], e : i32[130, 257]) {
  return a = sum(a * a), b = sum(abs(b)), c = sum(c), d = sum(d * d), e = sum(e * e)
}
