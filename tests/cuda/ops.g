# Ops that stand alone, with indices known only at run time, and nested loops: each with its gradients.
entry update(x : f32[3, 7, 5], y : f32[3, 2, 5], at : u8[2]) {
  z = dynamic_update(x, y, at[0] % 6, axis = 1)
  s = dynamic_slice(x, at[1] % 4, 4, axis = 1)
  dx, dy = grad(sum(z * z) + sum(s * s * s), [x, y])
  return z, s, dx, dy
}
entry update_types(x : f16[9, 4], y : f16[4, 4], i : i64[9, 4], j : i64[1, 4], at : i32[]) {
  return a = dynamic_update(x, y, at % 6), b = dynamic_update(i, j, at % 9), c = x[at % 9], d = dynamic_slice(i, at % 3, 7)
}
# in place: rows of a tensor of the program's own
entry rows_in_place(x : f32[5, 8, 64], y : f32[1, 8, 64], at : i32) {
  return z = dynamic_update(tanh(x), y, at % 5)
}
entry suppressed(boxes : f32[2, 300, 4], scores : f32[2, 3, 300], limit : f32[]) {      # in one block, and more boxes than threads
  low, size = boxes[:, :, 0:2], abs(boxes[:, :, 2:4])
  b = concat([low, low + size], axis = 2)
  return few = nms(b, scores, 20, 0.3), all = nms(b[:, :7], where(scores > 0, scores, -inf)[:, :, :7], 9, abs(limit))
}
entry added(x : f32[11, 40], ids : u8[50], y : f32[50, 40]) {
  z = scatter_add(x, ids, y)
  dx, dy = grad(sum(z * z), [x, y])
  return z, dx, dy
}
entry noise() {
  return u = uniform(shape = [3, 37]), n = normal(shape = [5, 50]), h = f16(normal(shape = [90])), b = bernoulli(0.3, shape = [77])
}
# of a bounded axis: of whole fours, and with a rest
entry noise_of(x : f32[n <= 92, 2]) {
  return x = x + 1, a = normal(shape = [n, 20]), b = uniform(shape = [n, 3]), c = normal(shape = [2, n, 3]), d = uniform(shape = [1, n])
}
entry thinned(x : f32[40, 33]) {
  y = dropout(x, 0.4)
  return y, dx = grad(sum(y * y), x)
}
entry loops(x : f32[3, 2, 4, 3], w : f32[5, 5], u : f32[3, 5]) {
  g = zeros([4, 5])
  n = zeros([])
  state seen : f32[4, 5] = zeros()
  ys = scan i in 0..3 {
    h = g
    scan j in 0..2 {
      h, g = tanh(x[i, j] @ u + h @ w), h * 0.5 + f32(i - j)
      n = n + f32(i * 2 + j)
    }
    seen := seen + h
    yield g + h
  }
  loss = sum(g * g) + sum(ys * ys)
  return loss, ys, n, seen, gx = grad(loss, x), gw = grad(loss, w), gu = grad(loss, u)
}
entry functions(x : f32[2000], y : f32[2000]) {
  a = abs(x) + 0.1
  return s = sign(x), e = expm1(x), l = log1p(a), l2 = log2(a), r = rsqrt(a), i = sin(x), c = cos(x), f = erf(x), d = floor(x), u = ceil(x),
         n = round(x), m = x % y, p = a ** y, g = grad(sum(erf(x) * sin(x) * cos(y) + log1p(a) ** y + expm1(x) + rsqrt(a)), x),
         q = x != y, v = x <= y, w = x > y, z = x >= y or x == y,
         k = log(a), t = grad(sum(sigmoid(x) * y), x)
}
entry pooled_twice(x : f32[2, 3, 9, 8], y : f32[2, 3, 4, 4]) {
  g = grad(sum(max_pool(x, 2) * y), x)
  return d = grad(sum(g * g * x), y)
}
entry exchanged(x : f32[33, 3]) {
  state s : f32[33, 3] = ones()
  state t : f32[33, 3] = zeros()
  was = s
  s := t
  t := was + x
  return was, x
}
entry descent(x : f32[5, 7], w : f32[7, 3]) {      # gradients in the body of a loop, and through it
  y = x
  scan i in 0..4 { y = y - 0.1 * grad(sum(tanh(y @ w) ** 2), y) }
  return y, g = grad(sum(y * y), w)
}
entry carried(i : i32[32]) {      # a loop begins with a copy of what it is given
  n = i
  scan k in 0..2 { n = n * 2 + i }
  return n
}
# sums of filters' gradients that are nothing but -0 or 0
entry underflow(x : f32[2, 3, 4, 5], w : f32[4, 3, 1, 1]) {
  y = conv2d(x * 1e-30, w)
  return s = 1 / grad(sum(y * 1e-30), w)
}
entry underflow_depthwise(x : f32[2, 8, 4, 5], w : f32[8, 1, 1, 1]) {
  y = conv2d(x * 1e-30, w, groups = 8)
  return s = 1 / grad(sum(y * 1e-30), w)
}
entry quotients(i : i32[300], j : i32[300], u : u8[300]) {
  odd = j % 9 * 2 + 1
  return a = i // odd, b = i // -odd, c = u // 7
}
# operands that lie transposed, in tiles: with others that do not, one twice, behind other axes, of two and of one bytes
entry tiles(x : f32[3, 33, 50], y : f32[3, 50, 33], s : f32[33], z : f32[3, 33, 50]) {
  return q = relu(transpose(x, [0, 2, 1]) * s) + y + transpose(x * z, [0, 2, 1])
}
entry axes_apart(x : f32[17, 5, 7, 20], b : u8[40, 35]) {
  return p = transpose(x, [3, 1, 2, 0]) + 1, q = f32(transpose(bf16(x), [2, 3, 0, 1]) * 2), r = f32(transpose(b))
}
entry tiles_of_runs(x : f32[n <= 90, 40], y : f32[40, n]) { return p = transpose(x) * 3, q = transpose(y) + x }
# by a quantized matrix; quantized.g has more of them
entry wide_tiles(x : f32[35, 41], w : f32[41, 710], v : f32[700, 41]) { return y = x @ w, z = x @ transpose(v) } # 16 x 32
entry two_rows(x : f32[2, 300], w : f32[300, 72], y : f32[n <= 200, 2], v : f32[n, 70]) { # 128 loads, and a rest
  return a = x @ w, b = transpose(y) @ v
}
entry quantized(x : f32[3, 101], q : i8[101, 90], s : bf16[4, 90]) { return a = relu(x @ dequantize(q, s)) + 1 }
