def scale(x : [..., d], name) {
  param s : f32[d] = ones() from "[model.]{name}.weight"
  return x * s
}
entry e(x : f32[2, 4]) { return y = scale(x, "a[0]") as r, u = scale(x, "a[b]") as s, z = scale(x, "b]") as t }
