# Seven trainings with trees of params, each against the same in PyTorch: tests/peers/trees.py.
let N = 32
let D = 20
let H = 48
let C = 10
hyper lr = 0.02

def net(x) { return linear(tanh(layernorm(linear(x, H) as fc1) as ln), C) as fc2 }

# ---- averaged weights ----
state ema = like params("net")
entry average(x : f32[N, D], y : f32[N, C]) {
  loss = mse(net(x), y)
  minimize loss with sgd(lr, momentum = 0.9)
  ema := 0.9 * ema + 0.1 * params("net")
  with ema { p = net(x) }
  return loss, averaged = mse(p, y)
}

# ---- bootstrap your own latent: a predictor follows an averaged copy of the net ----
def predictor(z) { return linear(tanh(linear(z, H) as hidden), C) as out }
def unlike(p, t) { return mean(2 - 2 * sum(p * t, axis = -1) / sqrt(sum(p * p, axis = -1) * sum(t * t, axis = -1))) }
state teacher = like params("student")
entry bootstrap(x : f32[N, D], y : f32[N, D]) {
  with teacher { a, b = net(x) as student shared, net(y) as student shared }
  p, q = predictor(net(x) as student shared) as head shared, predictor(net(y) as student shared) as head shared
  loss = unlike(p, stop_gradient(b)) + unlike(q, stop_gradient(a))
  minimize loss with adam(lr / 10)
  teacher := 0.95 * teacher + 0.05 * params("student")
  return loss
}

# ---- no decay for norms and biases ----
entry groups(x : f32[N, D], y : f32[N, C]) {
  loss = mse(net(x), y)
  minimize loss with adamw(lr, decay = 0.3) if rank(p) > 1, adamw(lr, decay = 0)
  return loss
}

# ---- the gradient's norm, logged and clipped ----
entry clipped(x : f32[N, D], y : f32[N, C]) {
  loss = mse(net(x), y)
  g = grad(loss, params("net"))
  size = norm(g)
  update params("net") with sgd(lr, momentum = 0.9), by = g * min(0.3 / (size + 1e-6), 1)
  return loss, size
}

# ---- f16 with a loss scale that grows every fourth step, and skipped steps ----
entry halves(x : f32[N, D], y : f32[N, C]) {
  state scale : f32[] = const(4194304)
  state good : i32[] = zeros()
  with f16(params("net")) { p = net(f16(x)) }
  loss = mse(f32(p), y)
  g = grad(loss * scale, params("net")) / scale
  ok = finite(g)
  update params("net") with adamw(lr / 4), by = g, if = ok
  used = scale
  grown = where(good == 3, scale * 2, scale)
  scale := where(ok, grown, scale / 2)
  good := where(ok and good < 3, good + 1, 0)
  return loss, used, skipped = i32(not ok)
}

# ---- adapters of low rank beside frozen weights ----
def dense(x : [n, d], k, r = 4) {
  param w : f32[d, k] = glorot()
  scope low {
    param down : f32[d, r] = glorot()
    param up : f32[r, k] = zeros()
  }
  return x @ stop_gradient(w) + x @ down @ up
}
entry adapter(x : f32[N, D], y : f32[N, C]) {
  loss = mse(dense(tanh(dense(x, H) as a), C) as b, y)
  first, second = params("a.low"), params("b.low")
  by, then = grad(loss, first), grad(loss, second)
  update first with adam(lr / 4), by = by
  update second with adam(lr / 4), by = then
  return loss
}

# ---- an optimizer around another one: lookahead ----
def lookahead(p, g, lr) {
  adam(p, g, lr)
  state slow : f32[shape(p)] = p
  due = (step + 1) % 5 == 0
  slow := where(due, slow + 0.5 * (p - slow), slow)
  p := where(due, slow, p)
}
entry wrapped(x : f32[N, D], y : f32[N, C]) {
  loss = mse(net(x), y)
  minimize loss with lookahead(lr / 4)
  return loss
}
