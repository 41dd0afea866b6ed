entry f(q : f32[2, 4, 8], k : f32[2, 6, 8]) {
  return y = attention(q, k, k, causal = true)
}
