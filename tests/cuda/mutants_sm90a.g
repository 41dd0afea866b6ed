# Products by wgmma in which errors are planted: with edges and more k-tiles than stages; turned; more tiles than blocks; parts of the depth.
entry deep(a : f32[136, 616], b : f32[616, 72], c : f32[72]) { return y = f32(relu(bf16(a) @ bf16(b) + bf16(c))) }
entry turned(a : f32[136, 72], b : f32[104, 136]) { return y = f32(transpose(f16(a)) @ transpose(f16(b))) }
entry batch(a : f32[140, 64, 64], b : f32[140, 64, 72]) { return y = f32(bf16(a) @ bf16(b)) }
entry parts(a : f32[72, 1400], b : f32[1400, 64], c : f32[64]) { return y = f32(relu(bf16(a) @ bf16(b) + bf16(c))) }
# A run has 110 of the 300: rows, of which no block or one of a pair has any, and a depth, along and across.
entry bounded(a : f32[n <= 300, 72], b : f32[n, 136], c : f32[72, n], d : f32[72, 64]) {
  x, y, z = bf16(a), bf16(b), bf16(c)
  return rows = f32(x @ bf16(d)), across = f32(transpose(x) @ y), along = f32(z @ y), both = f32(transpose(y) @ transpose(z))
}
# Rows that begin anywhere, of A along the depth.
entry phases(a : f32[136, 77], b : f32[77, 72]) { return c = f32(bf16(a) @ bf16(b)) }
