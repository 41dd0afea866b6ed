# args: --exact --emit=c
entry wave(x : f64[4]) {
  return y = relu(x) + sin(2 * x)
}
