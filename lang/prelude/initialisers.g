# ---- initialisers: `shape` is the declared shape; zeros, ones, const, normal, uniform are built in ----

# fan-in and fan-out of a shape [in, out] or [out, in, window...]
def fans(shape : shape) {
  if len(shape) < 2 { return prod(shape), prod(shape) }
  if len(shape) == 2 { return shape[0], shape[1] }
  window = prod(shape[2:])
  return shape[1] * window, shape[0] * window
}

# uniform, variance 2 / (fan_in + fan_out)
def glorot(shape : shape) {
  fan_in, fan_out = fans(shape)
  a = sqrt(6 / (fan_in + fan_out))
  return uniform(-a, a, shape)
}

# normal, variance 2 / fan_in
def he(shape : shape) {
  fan_in, fan_out = fans(shape)
  return normal(std = sqrt(2 / fan_in), shape = shape)
}

# orthonormal rows, or columns if these are fewer. Newton's iteration x (3 - x'x) / 2 drives every singular value
# to 1
def orthogonal(shape : shape, gain = 1) {
  x = reshape(normal(shape = shape), [shape[0], -1])
  x = x / sqrt(sum(x * x))
  for i in 0..40 {
    if dim(x, 0) <= dim(x, 1) { x = 1.5 * x - 0.5 * (x @ x') @ x }
    else { x = 1.5 * x - 0.5 * x @ (x' @ x) }
  }
  return gain * reshape(x, shape)
}
