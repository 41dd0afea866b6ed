# as GGML writes it
entry f(x : f32[8, 16], w : f32[8, 4], table : f32[9, 16], ids : i32[3]) {
  a = w @ x
  b = ggml_mul_mat(w, x)
  c = ggml_soft_max(x)
  d = rope(x, freq_base = 10000, n_past = 0)
  e = x[[0, 2, 4]]
  return a
}
