# Planted errors in what thread blocks tell each other that share the keys of few queries: see mutants.c. Rows that threads do
# not share evenly, a part of the keys; masks, several queries of a head, values with more columns than threads side by side.
entry few(q : f32[1, 2, 3, 1, 70], k : f32[1, 2, 1, n <= 319, 70], v : f32[1, 2, 1, n, 40]) { return y = attention(q, k, v) }
entry masked(q : f32[1, 4, 2, 20], k : f32[1, 2, 140, 20], v : f32[1, 2, 140, 130], m : f32[1, 4, 2, 140]) {
  y = attention(q, k, v, mask = m > -1)
  return y, d = grad(sum(y * y), q)
}
