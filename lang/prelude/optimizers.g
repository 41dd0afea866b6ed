# ---- optimizers: called for each param p with its gradient g ----

# gradient descent; decay is added to the gradient
def sgd(p, g, lr, momentum = 0, nesterov : flag = false, decay = 0) {
  if not known(decay) or decay != 0 { g = g + decay * p }
  if not known(momentum) or momentum != 0 {
    state m : f32[shape(p)] = zeros()
    m := momentum * m + g
    g = g + momentum * m if nesterov else m
  }
  p := p - lr * g
}

# moments of the gradient over the root of their squares; weights decay by lr * decay a step
def adamw(p, g, lr, b1 = 0.9, b2 = 0.999, eps = 1e-8, decay = 0.01) {
  state m : f32[shape(p)] = zeros()
  state v : f32[shape(p)] = zeros()
  t = f32(step + 1)
  # What corrects the moments' start at zero is a number, not a tensor:
  # (m / c1) / (sqrt(v / c2) + eps) is the same as (sqrt(c2) / c1) m / (sqrt(v) + sqrt(c2) eps).
  c2 = sqrt(-expm1(t * log(b2)))              # 1 - b2 ** t has four digits in f32, this has all
  rate = lr * c2 / -expm1(t * log(b1))
  m := b1 * m + (1 - b1) * g
  v := b2 * v + (1 - b2) * (g * g)
  p := p * (1 - lr * decay) - rate * m / (sqrt(v) + eps * c2)
}

# the same, but decay is added to the gradient
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

# gradient over the root of its moving mean square
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

# gradient over the root of the sum of its squares
def adagrad(p, g, lr, eps = 1e-10, decay = 0) {
  state v : f32[shape(p)] = zeros()
  if not known(decay) or decay != 0 { g = g + decay * p }
  v := v + g * g
  p := p - lr * g / (sqrt(v) + eps)
}

# the sign of a moving mean of the gradient; weights decay as with adamw
def lion(p, g, lr, b1 = 0.9, b2 = 0.99, decay = 0) {
  state m : f32[shape(p)] = zeros()
  p := p * (1 - lr * decay) - lr * sign(b1 * m + (1 - b1) * g)
  m := b2 * m + (1 - b2) * g
}

# ---- schedules: the learning rate at the built-in counter of training steps ----

# from 0 to lr in `warmup` steps, then down half a cosine to `least` times lr at `steps`
def cosine(lr, steps, warmup = 0, least = 0) {
  t = f32(step)
  done = clamp((t - warmup) / max(steps - warmup, 1), 0, 1)
  rate = lr * (least + (1 - least) * 0.5 * (1 + cos(3.141592653589793 * done)))
  return rate * warm(warmup)
}

# the same with a straight line
def linear_decay(lr, steps, warmup = 0, least = 0) {
  t = f32(step)
  done = clamp((t - warmup) / max(steps - warmup, 1), 0, 1)
  return lr * (1 - (1 - least) * done) * warm(warmup)
}

# times `factor` after every `every` steps
def step_decay(lr, every, factor = 0.1) {
  return lr * factor ** floor(f32(step) / every)
}

# the factor of a warm-up: from 0 to 1 in `warmup` steps
def warm(warmup) {
  if warmup == 0 { return 1 }
  return min((f32(step) + 1) / warmup, 1)
}
