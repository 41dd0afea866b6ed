# products.g: what tests/gpu/run.sh times: products and element-wise work on what stays on the device
let M = 4096
let N = 4096
let K = 4096
let E = 67108864                              # elements of a vector

entry product() {
  param a : f32[M, K] = normal(1)
  param b : f32[K, N] = normal(1)
  state c : f32[M, N] = zeros()
  c := a @ b
  return first = c[0, 0]
}

# reads two vectors and writes one: 12 bytes an element
entry stream() {
  state x : f32[E] = zeros()
  state y : f32[E] = zeros()
  x := relu(0.5 * x + y)
  return first = x[0]
}
