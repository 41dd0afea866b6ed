# The forms of kernels that mutants are made of, at sizes that have edges and take the interpreter milliseconds.
entry maps(x : f32[6, 37], b : f32[37], y : f32[37, 6]) { return a = relu(x * b + 0.5), c = x' - y }
entry rows(x : f32[5, 70], w : f32[5, 70]) { return a = softmax(x), d = grad(sum(softmax(x) * w), x) }
entry loss(x : f32[9, 13], t : u8[9]) { return l = mean(xent(x, t)), d = grad(mean(xent(x, t)), x), hit = mean(argmax(x) == t) }
entry columns(x : f32[67, 20]) { return a = sum(x, axis = 0), b = argmax(x, axis = 0) }
entry whole(x : f32[40, 61]) { return a = sum(x * x), b = max(x) }
entry dense(x : f32[37, 45], w : f32[45, 70], b : f32[70]) { return a = relu(x @ w + b) }
entry turned(x : f32[45, 37], w : f32[70, 45]) { return a = x' @ w' }
entry tensor(x : f32[40, 200], w : f32[200, 36], b : f32[36]) { return a = f32(relu(bf16(x) @ bf16(w) + bf16(b))) }
entry tensor_few(x : f32[10, 2600], w : f32[2600, 18], y : f32[24, 3], v : f32[24, 36]) { # more parts than warps; part of a step
  return a = f32(bf16(x) @ bf16(w)), b = f32(bf16(y)' @ bf16(v))
}
entry tensor_turned(x : f32[72, 40], w : f32[36, 72]) { return a = f32(f16(x)' @ f16(w)') }
entry attend(q : f32[1, 2, 90, 8], k : f32[1, 2, 90, 8], v : f32[1, 2, 90, 65], w : f32[1, 2, 90, 65]) {
  y = attention(q, k, v, causal = true)
  dq, dk, dv = grad(sum(y * w), [q, k, v])
  return y, dq, dk, dv
}
entry images(x : f32[2, 3, 7, 6], w : f32[4, 3, 3, 2], y : f32[2, 4, 4, 4]) {
  z = sum(conv2d(x, w, 2, 1) * y)
  g, h = grad(z, [x, w])
  return g, h, a = conv2d(x, w, 2, 1)
}
entry pools(x : f32[1, 2, 9, 8], y : f32[1, 2, 9, 11]) { # the last window of a row ends with it, or behind it
  m = max_pool(x, 3, 2, pad = 1)
  a = avg_pool(x, 3, 2, pad = 1)
  g = grad(sum(m * m) + sum(a * a), x)
  return g, m = max_pool(y, 3, 2, pad = 1), a = avg_pool(y, 3, 2, pad = 1)
}
entry ids(t : f32[11, 6], i : i32[30]) {
  y = gather(t, i)
  return y, d = grad(sum(y * y), t), h = one_hot(i, 11)
}
entry order(x : f32[5, 43], w : f32[5, 43]) { return s = sort(x), c = cumsum(x), d = grad(sum(sort(x) * w), x) }
entry moves(x : f32[6, 20], y : f32[6, 15]) { return a = concat([x, y], axis = 1), b = pad(x, [1, 2], [3, 0], 0.5), c = reverse(x) }
entry draws() { return u = uniform(0, 1, shape = [70]), n = normal(1, shape = [70]) }
def net(x) { return linear(tanh(linear(x, 24) as a), 5) as b }
entry learn(x : f32[20, 12], t : u8[20]) {
  h = net(x)
  l = mean(xent(h, t % 5)) + mean(h * h)
  minimize l with adamw(1e-2)
  return loss = l, top = max(h, axis = 1)
}
entry attend_halves(q : f32[2, 70, 20], k : f32[150, 2, 20], v : f32[150, 2, 34], w : f32[70, 2, 34]) { # views
  a = bf16(q)
  b = bf16(k)
  c = bf16(v)
  y = transpose(attention(a, transpose(b, [1, 0, 2]), transpose(c, [1, 0, 2])), [1, 0, 2])
  dq, dk, dv = grad(sum(f32(y) * w), [a, b, c])
  return y = f32(y), dq = f32(dq), dk = f32(dk), dv = f32(dv)
}
entry tiles(x : f64[70, 3, 16, 15], w : f64[16, 3, 3, 3]) { return y = relu(conv2d(x, w, 2, 1)) } # elements enough for tiles
entry box(x : f32[24, 3, 26, 26], w : f32[16, 3, 7, 5]) { return y = conv2d(x, w, 2, [3, 2]) }
entry conv_ring(x : f32[10, 29, 20, 19], w : f32[18, 29, 2, 3]) { return y = conv2d(x, w, 1, [1, 1]) }
entry conv_ring_grad(x : f32[5, 18, 22, 19], w : f32[37, 18, 2, 3], y : f32[5, 37, 12, 19]) { # some phases have some taps
  return dx = grad(sum(conv2d(x, w, [2, 1], [1, 1]) * y), x)
}
entry filter_ring(x : f32[40, 18, 9, 3], w : f32[20, 18, 3, 3], y : f32[40, 20, 5, 2]) { # some taps have no pixels
  return dw = grad(sum(conv2d(x, w, 2, [1, 3], dilation = [1, 3]) * y), w)
}
entry chunks(x : f32[131, 131]) {
  y = x * 2 + 1
  return y, a = sum(y * y), b = sum(x)
}
entry column_tiles(x : f32[600, 37], y : f32[3, 5, 7, 29], b : f32[5, 1, 1]) {
  return a = sum(x, axis = 0), c = sum((y - b) ** 2, axis = [0, 2, 3]), d = argmax(x, axis = 0)
}
entry parts(x : f32[1800, 37]) { return a = sum(x, axis = 0) * 2 }
entry merges(x : f32[2, 2100]) { return s = argsort(x) }
entry table(t : f32[11, 3], i : i32[530], w : f32[530, 3]) { return d = grad(sum(gather(t, i) * w), t) }
entry lines(x : f32[3, 9, 70], y : f32[2, 2100], z : f32[2, 600]) { return a = cumsum(x, axis = 1), b = cumsum(y), c = cumsum(z) }
entry passes(x : f32[1, 16500]) { return y = softmax(x), a = argmax(x) }
entry applied(x : f32[131, 131], s : f32[]) {
  n = sum(x * x) + s
  return n, y = x / sqrt(n + 1)
}
entry few(x : f32[20, 70]) { return a = sum(x, axis = 0), b = argmax(x, axis = 0) }
entry filters(x : f32[6, 3, 16, 16], w : f32[9, 3, 3, 3], y : f32[6, 9, 16, 16]) { # pixels enough for chunks
  return d = grad(sum(conv2d(x, w, 1, 1) * y), w)
}
entry tensor_images(x : f32[2, 6, 9, 8], w : f32[20, 6, 3, 3], y : f32[2, 20, 5, 4]) {
  z = f32(conv2d(f16(x), f16(w), 2, 1))
  g, h = grad(sum(z * y), [x, w])
  return z, g, h
}
entry tensor_box(x : f32[3, 2, 24, 26], w : f32[20, 2, 5, 3]) { return z = f32(conv2d(bf16(x), bf16(w), 2, [2, 1])) }
entry tensor_filter_box(x : f32[5, 3, 17, 16], w : f32[9, 3, 5, 5], y : f32[5, 9, 13, 12]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 1, 0)) * y), w)
}
entry padded(x : f32[20, 257], w : f32[257, 18]) { return y = f32(bf16(relu(x)) @ bf16(w)), z = f32(bf16(w)' @ bf16(tanh(x))') }
entry by_taps(x : f32[2, 6, 9, 8], w : f32[32, 6, 3, 3], y : f32[2, 32, 5, 4]) { # some phases have some taps
  return d = grad(sum(f32(conv2d(f16(x), f16(w), 2, 1)) * y), x)
}
entry one_tap(x : f32[2, 32, 9, 8], w : f32[20, 32, 1, 1], y : f32[2, 20, 9, 8]) {
  z = f32(conv2d(f16(x), f16(w), 1, 0))
  return z, d = grad(sum(z * y), w)
}
entry at_once(x : f32[2000], y : f32[2000]) { return a = cumsum(x * 2)[7], b = x * x + 1, c = y * y + 1 } # one launch for two
entry quantized(x : f32[3, 140], q : i8[140, 45], s : bf16[5, 45]) { return y = x @ dequantize(q, s) } # two steps, and a part
entry quantized_tile(x : f32[33, 47], q : i8[47, 36], s : bf16[6, 36], p : u8[34, 24], r : bf16[34, 6]) {
  return a = x @ dequantize(q, s, group = 8), b = x @ dequantize(p, r, axis = 1, group = 8, extent = 47)'
}
entry quantized_tensor(x : bf16[40, 136], q : i8[136, 36], s : bf16[5, 36], p : u8[34, 68], r : bf16[34, 5]) { # 5 k-tiles
  return a = f32(x @ dequantize(q, s, dtype = bf16)), b = f32(x @ dequantize(p, r, axis = 1, dtype = bf16)')
}
entry quantized_turned(x : f32[2, 296], p : u8[40, 148], s : bf16[40, 10]) { return y = x @ dequantize(p, s, axis = 1)' }
entry thin(x : f32[3, 2100], w : f32[2100, 9]) { return y = x @ w } # a chain for each warp, the last one a part
entry thin_across(x : f32[1164, 3], w : f32[37, 1164]) { return y = x' @ w' }
entry stacked(x : f32[1, 70], a : f32[70, 40], b : f32[70, 40]) { # a norm that blocks compute, and two products in one launch
  y = rms_norm(x, 1e-5)
  return silu(y @ a) * (y @ b)
}
