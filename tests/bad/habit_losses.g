# arguments of losses and layers that others have, and what they do with functions
def fwd(x) { return sign(x) }
entry train(x : f32[8, 4], y : i32[8]) {
  h = custom_vjp(fwd, x)
  n = layer_norm(x, [4], eps = 1e-5)
  loss = cross_entropy(linear(x, 3) as fc, y, weight = [1, 2, 3])
  s = zeros([4])
  for i in 0..2 { s = s + x[i] }
  return loss, s
}
entry open(x : f32[none, 3]) { return y = x * 2 }
entry counts(x : f32[2]) { return y = x + arange(2) * f32(1) }
def tell(x, keys) { return x }
entry other(x : f32[8, 4]) { return y = linear(x, 3, weight = x) as fc }
entry own(x : f32[8, 4]) { return y = tell(x, key = x) }
