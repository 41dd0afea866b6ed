entry f(x : f16[4], y : bf16[4]) {
  return z = x + y
}
