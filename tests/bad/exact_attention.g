# args: --exact --emit=c
entry look(q : f64[2, 4, 8], k : f64[2, 4, 8], v : f64[2, 4, 8]) {
  return y = attention(q, k, v)
}
