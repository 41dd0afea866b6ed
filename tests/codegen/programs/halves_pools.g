# Pools of images between convolutions, and their gradients, that are stored as halves: tiles of pixels one behind the
# other or apart, windows that meet or do not, taps of 8 and 32 bits, other results beside them, channels that fill
# registers and that do not.
entry disjoint(x : f32[3, 2, 7, 190], w : f32[3, 6, 3, 95]) {
  c = conv(x, 6, 3, pad = 1) as a1
  y = max_pool(c, 2, stride = 2)
  d = bf16(grad(sum(y * w), c))
  return h = bf16(y), d, e = conv(f32(d), 3, 1) as b1
}
entry overlapping(x : f32[2, 3, 9, 33], w : f32[2, 20, 5, 17], v : f32[2, 20, 7, 31]) {
  c = conv(x, 20, 3, pad = 1) as a2
  y = max_pool(c, 3, stride = 2, pad = 1)
  z = max_pool(c, 3, stride = 1)
  return h = f16(y), k = bf16(grad(sum(y * w), c)), g = bf16(z), i = f16(grad(sum(z * v), c))
}
entry beside(x : f32[2, 3, 8, 30], w : f32[2, 5, 4, 15]) {
  c = conv(x, 5, 3, pad = 1) as a3
  y = max_pool(c, 2, stride = 2)
  z = tanh(y * 3)
  d = relu(grad(sum(y * w), c) * 2)
  return h = bf16(z), f = conv(z, 3, 1) as b3, k = f16(d), g = conv(d, 3, 1) as d3
}
entry large(x : f32[1, 3, 20, 40], w : f32[1, 16, 1, 12], v : f32[1, 16, 16, 8]) { # taps of 32 bits; rows in a loop
  c = conv(x, 16, 3, pad = 1) as a4
  y = max_pool(c, 17, stride = [4, 2])
  z = max_pool(c, [5, 33], stride = 1)
  return h = bf16(y), k = bf16(grad(sum(y * w), c)), g = f16(z), i = bf16(grad(sum(z * v), c))
}
entry means(x : f32[2, 3, 9, 21], w : f32[2, 7, 9, 21], v : f32[2, 7, 5, 11]) {
  c = conv(x, 7, 3, pad = 1) as a5
  y = avg_pool(c, 3, stride = 1, pad = 1)
  z = avg_pool(c, 2, stride = 2, ceil = true)
  return h = bf16(y), k = bf16(grad(sum(y * w), c)), g = f16(z), i = bf16(grad(sum(z * v), c))
}
entry many(x : f32[2, 3, 5, 7], w : f32[2, 70, 5, 7]) {
  c = conv(x, 70, 3, pad = 1) as a6
  y = max_pool(c, 3, stride = 1, pad = 1)
  return h = bf16(y), k = bf16(grad(sum(y * w), c))
}
entry halves(x : f32[2, 3, 7, 180]) {
  c = conv(x, 6, 3, pad = 1) as a7
  b = bf16(c)
  y = max_pool(b, [3, 2], stride = 1, pad = [1, 0])
  z = avg_pool(f16(c), 2, stride = 1)
  return y, z, e = conv(f32(y), 3, 1) as d7
}
entry indices(x : f32[2, 3, 8, 150], w : f32[2, 6, 4, 75], v : f32[2, 6, 4, 75], u : f32[2, 6, 4, 118]) {
  c = conv(x, 6, 3, pad = 1) as a8
  b = bf16(c)
  h = f16(c)
  y = max_pool(b, 2, stride = 2)
  z = max_pool(h, 3, stride = 2, pad = 1)
  l = max_pool(b, [5, 33], stride = 1)
  dy = grad(sum(f32(y) * w), b)
  dz = grad(sum(f32(z) * v), h)
  dl = grad(sum(f32(l) * u), b)
  return k = conv(f32(dy), 3, 1) as b8, i = conv(f32(dz), 3, 1) as d8, y, z, l, dl
}
