entry f(x : f32[4]) {
  relu = x * 2
  return z = relu(x)
}
