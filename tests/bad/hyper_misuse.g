hyper topk : i32 = 3
hyper on = true
hyper half : i32 = 7 / 2
hyper big : i32 = 2 ** 31 - 1
hyper on = false
def keep(x : [..., d], k : count) { return x[..., 0:k] }
entry a(x : f32[4, 8]) { return y = keep(x, topk) }
entry b(x : f32[4, 8]) { return y = reshape(x, [topk, -1]) }
entry c(x : f32[4, 8]) {
  param w : f32[topk, 8] = zeros()
  return y = x @ w'
}
entry d(x : f32[4, 8]) { return y = x + on }
entry e(x : f32[4, 8]) { return y = 1 if on else 2 }
entry f(x : f32[4, 8]) { return y = linear(x, 3, bias = on) as fc }
entry g(x : f32[4, 8]) { return y = f16(x) * topk, z = not topk, w = on and topk }
