entry f(q : f32[2, 4, 8], m : f32[4, 4]) {
  return y = attention(q, q, q, mask = m)
}
entry g(q : f32[2, 3, 4, 8], k : f32[2, 3, 5, 8], m : bool[4, 4]) {
  return y = attention(q, k, k, mask = m)
}
