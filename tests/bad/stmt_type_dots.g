def f(x : f32[n, ...]) {
  y = x : f32[...]
  return y : i33
}
