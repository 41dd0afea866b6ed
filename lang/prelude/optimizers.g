# ---- optimizers: called for each param p with its gradient g ----

# gradient descent with momentum; weight decay is added to the gradient
def sgd(p, g, lr, momentum = 0, nesterov : flag = false, decay = 0) {
  if not known(decay) or decay != 0 { g = g + decay * p }
  if not known(momentum) or momentum != 0 {
    state m : f32[shape(p)] = zeros()
    m := momentum * m + g
    g = g + momentum * m if nesterov else m
  }
  p := p - lr * g
}

# Adam with decoupled weight decay: weights shrink by lr * decay in each step
def adamw(p, g, lr, b1 = 0.9, b2 = 0.999, eps = 1e-8, decay = 0.01) {
  state m : f32[shape(p)] = zeros()
  state v : f32[shape(p)] = zeros()
  t = f32(step + 1)
  # The bias correction is a scalar, since
  # (m / c1) / (sqrt(v / c2) + eps) is the same as (sqrt(c2) / c1) m / (sqrt(v) + sqrt(c2) eps).
  c2 = sqrt(-expm1(t * log(b2)))              # 1 - b2 ** t has four digits in f32, this has all
  rate = lr * c2 / -expm1(t * log(b1))
  m := b1 * m + (1 - b1) * g
  v := b2 * v + (1 - b2) * (g * g)
  p := p * (1 - lr * decay) - rate * m / (sqrt(v) + eps * c2)
}

# Adam; weight decay is added to the gradient
def adam(p, g, lr, b1 = 0.9, b2 = 0.999, eps = 1e-8, decay = 0) {
  state m : f32[shape(p)] = zeros()
  state v : f32[shape(p)] = zeros()
  if not known(decay) or decay != 0 { g = g + decay * p }
  t = f32(step + 1)
  c2 = sqrt(-expm1(t * log(b2)))              # 1 - b2 ** t has four digits in f32, this has all
  rate = lr * c2 / -expm1(t * log(b1))
  m := b1 * m + (1 - b1) * g
  v := b2 * v + (1 - b2) * (g * g)
  p := p - rate * m / (sqrt(v) + eps * c2)
}

# RMSProp: the gradient over the root of its moving mean square
def rmsprop(p, g, lr, alpha = 0.99, eps = 1e-8, momentum = 0, decay = 0) {
  state v : f32[shape(p)] = zeros()
  if not known(decay) or decay != 0 { g = g + decay * p }
  v := alpha * v + (1 - alpha) * (g * g)
  u = g / (sqrt(v) + eps)
  if not known(momentum) or momentum != 0 {
    state m : f32[shape(p)] = zeros()
    m := momentum * m + u
    u = m
  }
  p := p - lr * u
}

# AdaGrad: the gradient over the root of the sum of its squares
def adagrad(p, g, lr, eps = 1e-10, decay = 0) {
  state v : f32[shape(p)] = zeros()
  if not known(decay) or decay != 0 { g = g + decay * p }
  v := v + g * g
  p := p - lr * g / (sqrt(v) + eps)
}

# Lion: the sign of a moving mean of the gradient; decoupled weight decay
def lion(p, g, lr, b1 = 0.9, b2 = 0.99, decay = 0) {
  state m : f32[shape(p)] = zeros()
  p := p * (1 - lr * decay) - lr * sign(b1 * m + (1 - b1) * g)
  m := b2 * m + (1 - b2) * g
}

# Adafactor without momentum: of a matrix it keeps the mean squares of rows and columns; other axes than the first count as one.
# The second moment forgets by step ** -rate, and an update's root mean square is at most `clip`
def adafactor(p, g, lr, rate = 0.8, clip = 1, eps = 1e-30, decay = 0) {
  b = 1 - f32(step + 1) ** -rate
  if rank(p) < 2 {
    state v : f32[shape(p)] = zeros()
    v := b * v + (1 - b) * (g * g + eps)
    u = g * rsqrt(v)
  } else {
    state rows : f32[dim(p, 0)] = zeros()
    state columns : f32[prod(shape(p)) / dim(p, 0)] = zeros()
    square = reshape(g * g, [dim(p, 0), -1]) + eps
    rows := b * rows + (1 - b) * mean(square, axis = 1)
    columns := b * columns + (1 - b) * mean(square, axis = 0)
    u = reshape(g, shape(square)) * rsqrt(rows / mean(rows))[:, none] * rsqrt(columns)
  }
  u = reshape(u / max(sqrt(mean(u * u)) / clip, 1), shape(p))
  p := p * (1 - lr * decay) - lr * u
}

# Muon: momentum made orthogonal, as a matrix of the first axis and the others, by five Newton-Schulz steps. An update has
# the root mean square 0.2, as Adam's, so both take one rate: muon(lr) if rank(p) == 2, adamw(lr)
def muon(p, g, lr, momentum = 0.95, nesterov : flag = true, decay = 0) {
  state m : f32[shape(p)] = zeros()
  m := momentum * m + g
  x = reshape(g + momentum * m if nesterov else m, [dim(p, 0), -1])
  wide = dim(x, 0) <= dim(x, 1)
  if not wide { x = x' }
  x = x / (norm(x) + 1e-7)
  for i in 0..5 {
    a = x @ x'
    x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
  }
  if not wide { x = x' }
  p := p * (1 - lr * decay) - lr * (0.2 * sqrt(max(dim(x, 0), dim(x, 1)))) * reshape(x, shape(p))
}

# ---- schedules: the learning rate at the built-in counter of training steps ----

# linear warm-up from 0 to lr in `warmup` steps, then cosine decay to `least` times lr at `steps`
def cosine(lr, steps, warmup = 0, least = 0) {
  t = f32(step)
  done = clamp((t - warmup) / max(steps - warmup, 1), 0, 1)
  rate = lr * (least + (1 - least) * 0.5 * (1 + cos(3.141592653589793 * done)))
  return rate * warm(warmup)
}

# linear warm-up, then linear decay to `least` times lr at `steps`
def linear_decay(lr, steps, warmup = 0, least = 0) {
  t = f32(step)
  done = clamp((t - warmup) / max(steps - warmup, 1), 0, 1)
  return lr * (1 - (1 - least) * done) * warm(warmup)
}

# linear warm-up, then lr until `decay` steps before the end, then linear decay to `least` times lr at `steps`
def wsd(lr, steps, warmup = 0, decay = 0, least = 0) {
  left = clamp((steps - f32(step)) / max(decay, 1), 0, 1)
  return lr * (least + (1 - least) * left) * warm(warmup)
}

# rises from start * lr to lr in the first part `rise` of the steps, then falls to least * lr at `steps`, both along a cosine
def one_cycle(lr, steps, rise = 0.3, start = 0.04, least = 4e-6) {
  t = f32(step)
  up = clamp(t / (rise * steps), 0, 1)
  down = clamp((t - rise * steps) / ((1 - rise) * steps), 0, 1)
  share = where(t < rise * steps, start + (1 - start) * 0.5 * (1 - cos(3.141592653589793 * up)),
                least + (1 - least) * 0.5 * (1 + cos(3.141592653589793 * down)))
  return lr * share
}

# lr times `factor` after every `every` steps
def step_decay(lr, every, factor = 0.1) {
  return lr * factor ** floor(f32(step) / every)
}

# the factor of a linear warm-up, from 0 to 1 in `warmup` steps
def warm(warmup) {
  if warmup == 0 { return 1 }
  return min((f32(step) + 1) / warmup, 1)
}
