# Transposed convolutions and norms are of floats.
entry f(x : u8[2, 3, 8, 8], w : f32[3, 4, 3, 3], s : f32[3]) {
  a = conv_transpose2d(x, w)
  b = layer_norm(x)
  return c = batch_norm(x, s, s)
}
entry g(x : f16[2, 3, 8, 8], w : f32[3, 4, 3, 3]) {
  return a = conv_transpose2d(x, w)
}
