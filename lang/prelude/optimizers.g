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

# lr times `factor` after every `every` steps
def step_decay(lr, every, factor = 0.1) {
  return lr * factor ** floor(f32(step) / every)
}

# the factor of a linear warm-up, from 0 to 1 in `warmup` steps
def warm(warmup) {
  if warmup == 0 { return 1 }
  return min((f32(step) + 1) / warmup, 1)
}
