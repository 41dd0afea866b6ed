entry f(q : f32[2, 3, 4, 8], k : f32[2, 2, 4, 8]) {
  return y = attention(q, k, k)
}
