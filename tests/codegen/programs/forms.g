# Every form of kernel at shapes that are large enough for several threads, lanes and chunks, and odd
# enough for every edge. Run by forms.c, which compares ways of compiling it with the interpreter.
let R = 301
let C = 131

# ---- maps ----
entry map_flat(x : f32[70003], y : f32[70003]) { return a = relu(x * y) - exp(x), b = x < y }
entry map_rows(x : f32[R, C], b : f32[C]) { return a = tanh(x + b) }
entry map_columns(x : f32[R, C], b : f32[R, 1]) { return a = x * b + 1, c = x - b }
entry map_wide(x : f32[3, 20011], b : f32[3, 1]) { return a = sqrt(abs(x)) + b }
entry map_three(x : f32[9, 40, 50], y : f32[40, 1], z : f32[9, 1, 50]) { return a = x * y - z }
entry map_turned(x : f32[140, 200], y : f32[200, 140]) { return a = x' + y, b = x' }
entry map_parts(x : f32[300, 120]) { return a = x[10:290:2, 5:105] * 2, b = reverse(x, axis = 1), c = -reverse(x) }
entry map_types(x : f32[30000], i : i32[30000], u : u8[30000], l : i64[30000]) {
  return a = i32(x * 100), b = f32(i) + f32(u), c = u8(x * 100), d = i64(i) * l, e = f16(x) * f16(x),
         f = bf16(x) + bf16(i), g = f64(x) / 3, h = i % 7, k = u + u8(i)
}
entry map_logic(x : f32[20000], y : f32[20000]) { return a = (x < y and not (x < 0)) or y == 0, b = where(x < y, x, y), c = min(x, y) - max(x, y) }
entry map_ramp(x : f32[200, 150]) { return a = x + f32(iota(150)), b = x * f32(reshape(iota(200), [200, 1])) }
entry map_scalar(x : f32[], y : f32[]) { return a = exp(x) * y, b = x / y }
entry map_one(x : f32[1, 1, 1]) { return a = x + 1 }

# ---- rows ----
entry soft(x : f32[R, C]) { return a = softmax(x), b = log_softmax(x) }
entry soft_short(x : f32[5000, 7]) { return a = softmax(x * 3), b = log_softmax(x) }
entry soft_cube(x : f32[6, 50, 64], m : f32[50, 64]) { return a = softmax(x + m) }
entry norm(x : f32[R, C], g : f32[C], b : f32[C]) {
  m = mean(x, axis = -1, keep = true)
  v = mean((x - m) ** 2, axis = -1, keep = true)
  return a = (x - m) * rsqrt(v + 1e-5) * g + b
}
entry loss(x : f32[R, C], t : u8[R]) {
  l = xent(x, t)
  return a = l, b = mean(l), d = grad(mean(l), x), hit = mean(argmax(x) == t)
}
entry soft_slope(x : f32[R, C], w : f32[R, C]) { return a = grad(sum(softmax(x) * w), x), b = grad(sum(log_softmax(x) * w), x) }
entry rows_all(x : f32[90, 333]) {
  return a = sum(x, axis = 1), b = max(x, axis = 1), c = min(x, axis = 1), d = argmax(x), e = argmin(x), f = prod(x * 0.01 + 1, axis = 1)
}
entry rows_int(x : i32[90, 333], y : u8[60, 500]) { return a = sum(x, axis = 1), b = max(x, axis = 1), c = argmin(x), d = sum(y, axis = 1), e = max(y, axis = 1) }
entry rows_two(x : f32[80, 12, 30]) { return a = sum(x * x, axis = [1, 2]), b = x / sum(x * x, axis = [1, 2], keep = true) }
entry rows_half(x : f16[100, 200], y : bf16[100, 200]) { return a = sum(x, axis = 1), b = softmax(y), c = sum(y * y) }
entry rows_vectors(x : f32[7, 300], y : f32[n <= 9, 520]) { # a thread's vectors of a row, stored behind the last one
  return a = softmax(x * 2) + layer_norm(x), b = layer_norm(y) * y, c = softmax(f16(y))
}
entry rows_double(x : f64[100, 200]) { return a = sum(x, axis = 1), b = softmax(x), c = sum(x) }
entry whole(x : f32[500, 401]) { return a = sum(x), b = mean(x * x), c = max(x), d = sum(exp(x)) }
entry whole_kept(x : f32[3, 40000], y : f32[3, 40000]) { # what is added up is wanted, too
  z = x + y / 3
  return z, s = sum(z * z), t = sum(x - y, axis = 1), d = x - y
}
entry whole_scaled(x : f32[40000], s : f32[]) { # what waits for the sum of chunks, and what is stored behind it
  n = sum(x * x)
  return a = x / sqrt(n) * s, b = n, c = n + s
}
entry whole_three(x : f32[3, 40000], y : f16[2, 30000]) { return a = sum(x, axis = 1) * 2, b = max(x, axis = 1), c = softmax(x), d = prod(y / 100 + 1, axis = 1), e = sum(y) }
entry whole_small(x : f32[5]) { return a = sum(x), b = max(x) }

# sums of -0 alone are -0, which 1 / x shows: of one number, along rows and columns of every length
def minus(x) { return -0.0 * abs(x) }
entry minus_zero(x : f32[300, 7], y : f32[40, 300], z : f32[20000], u : f32[600, 3], v : f32[3, 20011], w : f32[9000, 5], one : f32[5, 1]) {
  return a = 1 / sum(minus(x), axis = 1), b = 1 / sum(minus(y), axis = 1), c = 1 / sum(minus(z)), d = 1 / sum(minus(u), axis = 0),
         e = 1 / sum(minus(v), axis = 1), f = 1 / sum(minus(w), axis = 0), g = 1 / sum(minus(one), axis = 1), h = 1 / mean(minus(x), axis = 0),
         i = 1 / cumsum(minus(y)), j = 1 / cumsum(minus(x), axis = 0), k = 1 / sum(minus(x), axis = [0, 1]),
         l = 1 / f32(sum(f16(minus(x)), axis = 1)), m = 1 / sum(f64(minus(y)), axis = 0)
}

# ---- in order, and by index ----
entry running(x : f32[R, C], y : f16[3, 70, 201], i : i32[50, 40]) {
  return a = cumsum(x), b = cumsum(x, axis = 0), c = cumsum(y, axis = 1), d = cumsum(i),
         e = grad(sum(cumsum(x, axis = 0) * x), x)
}
entry taken(x : f32[R, C], i : u8[R, 40], j : i32[7, C], h : f16[9, 30], k : i64[9, 50]) {
  a = take_along(x, i % C)
  b = take_along(x, j % R, axis = 0)
  return a, b, c = grad(sum(a * a) + sum(b), x), d = grad(sum(take_along(h, k % 30)), h)
}

entry sorted(x : f32[R, C], i : i32[40, 50], h : bf16[3, 2000], w : f32[R, C]) {
  v, at = topk(x, 5)
  u, ties = topk(i % 4, 50)
  return v, at, u, ties, a = sort(x), b = sort(i, axis = 0), c = sort(h),
         e = grad(sum(sort(x, axis = 0) * w), x), f = grad(sum(v * v), x)
}

# ---- columns, and other axes ----
entry cols(x : f32[1000, 70], b : f32[70]) { return a = sum(x, axis = 0) * 0.5 + b, c = max(x, axis = 0) }
entry cols_even(x : f32[90, 512]) { s = sum(x * x, axis = 0)
  return a = s, b = sqrt(s) }
entry cols_wide(x : f32[40, 1000]) { return a = mean(x, axis = 0), b = argmax(x, axis = 0), c = argmin(x, axis = 0) }
entry middle(x : f32[20, 50, 40]) { return a = sum(x, axis = 1), b = argmax(x, axis = 1), c = sum(x, axis = [0, 2]), d = max(x, axis = [0, 1]) }
entry cols_int(x : i32[300, 90], y : bool[300, 90]) { return a = sum(x, axis = 0), b = max(y, axis = 0), c = min(y, axis = 0) }
entry cols_half(x : bf16[600, 33]) { return a = sum(x, axis = 0), b = max(x, axis = 0) }

# ---- products and what follows them ----
entry dense(x : f32[70, 90], w : f32[90, 150], b : f32[150]) { return a = relu(x @ w + b) }
entry dense_turned(x : f32[90, 70], w : f32[150, 90], y : f32[70, 150]) { return a = (x' @ w') * y, b = sigmoid(x' @ w') }
entry dense_rows(x : f32[70, 90], w : f32[90, 20], s : f32[70, 1]) { return a = x @ w * s - 1 }
entry batch(x : f32[5, 30, 40], y : f32[5, 40, 50]) { return a = x @ y * 0.125, b = tanh(x @ y) }
entry deep(x : f32[20, 2500], w : f32[2500, 30], b : f32[30]) { return a = x @ w + b }
entry deep_tile(x : f32[5, 3000], w : f32[3000, 7], y : f64[3, 9000], v : f64[9000, 3]) { return a = relu(x @ w), b = y @ v }
entry deep_wide(x : f32[250, 1100], w : f32[1100, 120]) { return a = x @ w }
entry deep_turned(x : f32[1030, 36], y : f32[1030, 40]) { return a = x' @ y, b = relu(y' @ x) }
entry added(x : f32[140, 60], y : f32[140, 70], z : f32[60, 70]) { return a = x' @ y + z, b = z }
entry added_up(x : f32[3, 130, 60], y : f32[3, 130, 70]) {
  s = zeros([60, 70])
  scan i in 0..3 { s = s + x[i]' @ y[i] }
  return s
}
entry uneven(x : f32[150, 300], w : f32[150, 330], v : f32[2, 150, 330]) { return a = x' @ w, b = relu(x' @ v) }
entry row_vector(x : f32[1, 600], w : f32[600, 500]) { return a = relu(x @ w) }
def net(x) { return linear(relu(linear(x, 160) as h), 40) as out }
entry learn(x : f32[48, 90], t : u8[48]) {
  l = mean(xent(net(x), t % 40))
  minimize l with adamw(1e-3, decay = 0.01)
  return loss = l
}
entry use_weights(x : f32[33, 90]) { return a = net(x) }

# ---- moves ----
entry moves(x : f32[60, 200], y : f32[60, 150], i : i32[500], t : f32[200, 40]) {
  return a = concat([x, y], axis = 1), b = concat([x, x], axis = 0), c = pad(x, [1, 2], [3, 0], 0.5),
         d = gather(t, abs(i) % 200), e = one_hot(abs(i) % 40, 40), f = reshape(x, [120, 100])
}
entry many_ids(i : i32[9000], d : f32[9000, 48], k : i32[n <= 8300, 2], h : bf16[n, 2, 48]) {
  t = ones([700, 48])
  u = bf16(t)
  return a = grad(sum(gather(t, abs(i) % 700) * d), t),
         b = grad(sum(f32(gather(u, abs(k) % 700) * h)), u)
}

# ---- windows over images ----
entry conv_bias(x : f32[3, 6, 17, 19], w : f32[10, 6, 3, 3], b : f32[10, 1, 1], r : f32[3, 10, 17, 19]) {
  return a = relu(conv2d(x, w, pad = 1) + b), s = conv2d(x, w, pad = 1) + r
}
entry conv_groups(x : f32[2, 12, 15, 300], w : f32[6, 4, 5, 3], d : f32[24, 1, 3, 3]) {
  return a = conv2d(x, w, 2, [0, 1, 2, 1], dilation = [2, 3], groups = 3), b = conv2d(x, d, pad = "same", groups = 12)
}
entry conv_line(x : f32[4, 3, 600], w : f32[5, 3, 9]) { return a = tanh(conv1d(x, w, stride = 2, pad = "same")) }
entry conv_back(x : f32[2, 6, 13, 11], w : f32[8, 3, 3, 2], y : f32[2, 8, 7, 6]) {
  z = sum(conv2d(x, w, 2, [1, 1, 1, 0], groups = 2) * y)
  g, h = grad(z, [x, w])
  return g, h, e = grad(sum(g * g) + sum(h * h), y), f = grad(sum(h * h), x)
}
entry conv_up(x : f32[2, 4, 9, 8], w : f32[4, 3, 4, 4], b : f32[3, 1, 1]) {
  return a = relu(conv_transpose2d(x, w, stride = 2, pad = 1, output_pad = 1) + b)
}
entry conv_half(x : f16[2, 4, 9, 30], w : f16[5, 4, 3, 3], y : bf16[2, 4, 9, 30], v : bf16[5, 4, 3, 3]) {
  return a = conv2d(x, w, pad = 1) * 0.5, b = grad(sum(conv2d(y, v, 2)), [y, v])[1]
}
entry conv_double(x : f64[2, 3, 9, 9], w : f64[4, 3, 3, 3]) { return a = conv2d(x, w), b = grad(sum(conv2d(x, w) ** 2), w) }
entry pools(x : f32[3, 5, 23, 31]) {
  m = relu(max_pool(x, 3, 2, pad = 1))
  a = avg_pool(x, [3, 2], pad = 1, ceil = true)
  b = avg_pool(x, 3, 2, pad = 1, count_include_pad = false)
  return m, a, b, g = grad(sum(m * m), x), h = grad(sum(a * a) + sum(b * b), x), l = max_pool(x[:, :, 0], 4, dilation = 2)
}
entry pool_types(x : f16[2, 4, 12, 12], i : i32[2, 3, 9, 9], u : u8[4, 5, 20, 20]) {
  return a = max_pool(x, 2), b = avg_pool(x, 3), c = max_pool(i, 3, 1, 1), d = max_pool(u, 2), e = grad(sum(max_pool(x, 3, 2)), x)
}
entry norm_images(x : f32[6, 7, 12, 11], g : f32[7], b : f32[7]) {
  m = mean(x, axis = [0, 2, 3])
  v = var(x, axis = [0, 2, 3])
  y = relu(batch_norm(x, m, v, g, b))
  return y, v, d = grad(sum(y * y * y), [x, g, b])[0]
}
def eye(x) {
  y = x |> conv(8, 3, bias = false) as stem |> bn as n1 |> relu
  y = y + (y |> conv(8, 3) as c1 |> bn as n2 |> relu |> max_pool(3, 1, pad = 1))
  y = y |> conv(16, [3, 1], 2, groups = 8) as c2 |> avg_pool(3, 2, pad = 1, ceil = true)
  y = conv_transpose(y, 4, 2, stride = 2) as up
  return linear(y |> bn as n3 |> relu |> global_avg_pool, 10) as head
}
entry learn_images(x : f32[4, 3, 13, 11], t : u8[4]) {
  l = mean(xent(eye(x), t % 10))
  minimize l with sgd(0.1, momentum = 0.9, decay = 5e-4)
  return loss = l
}
entry see_images(x : f32[3, 3, 13, 11]) { return a = eye(x) }

# ---- weights that loops read transposed ----
entry recurrent(h : f32[9, 140], w : f32[120, 140], v : f32[120, 140]) {
  scan i in 0..5 { h = tanh((relu(h @ w' + 0.01) - h @ v') @ v * 0.02) + h }
  return h
}
entry recurrent_back(x : f32[7, 120], w : f32[120, 30]) {
  h = x
  hs = scan i in 0..6 {
    h = tanh(h @ w * 0.1) @ w' * 0.1 + h
    yield h
  }
  return dx = grad(sum(hs * hs), x), dw = grad(sum(hs * hs), w)
}

# ---- random numbers in loops ----
entry drawn(x : f32[40, 70], w : f32[70, 70]) {
  noise = normal(shape = [40, 70])
  h = x
  ns = scan i in 2..5 {
    n = normal(shape = [3, 7])
    scan j in 0..2 { h = tanh(dropout(h, 0.25) @ w * 0.1) + uniform(shape = [40, 1]) }
    yield n + sum(h)
  }
  minimize sum(h) * 0 + sum(drawn_bias()) with sgd(0.1)
  return h, ns, dx = grad(sum(h * noise), x), dw = grad(sum(h * noise), w)
}
def drawn_bias() {
  param b : f32[3] = normal()
  return b
}
