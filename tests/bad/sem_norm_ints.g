entry f(x : i32[2, 3]) {
  return y = rms_norm(x)
}
