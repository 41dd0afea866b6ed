def dense(x : [..., d]) {
  param w : f32[d, 3] = zeros() from "layer.{l}.weight"
  return x @ w
}
entry e(x : f32[2, 4]) { return y = dense(x) }
