# the number of channels in the place of a fraction
let C = 4
entry f(x : f32[3, 4]) {
  a = bn(x, 16)
  b = layernorm(x, C)
  c = layer_norm(x, 4)
  d = rmsnorm(x, 4)
  e = x |> rms_norm(4)
  g = bn(x, momentum = -1.5)
  h = bn(x, momentum = x)
  i = groupnorm(x, 2, 7)
  return a
}
