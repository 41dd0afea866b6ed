# One number for each channel.
entry f(x : f32[2, 3, 8, 8], m : f32[3], v : f32[8]) {
  a = batch_norm(x, m, v)
  return b = batch_norm(x, m, m, scale = m, shift = f16(m))
}
