# The prelude: everything that a program can use without writing it, in the language itself.
# Read it to learn the language; a program may define any of these names anew.

# ---- layers: what they keep lies at the path of the call, as in net.fc1.w ----

# x @ w + b over the last axis
def linear(x : [..., d], units, bias = true) {
  param w : f32[d, units] = glorot()
  y = x @ w
  if bias {
    param b : f32[units] = zeros()
    y = y + b
  }
  return y
}

# a row of d numbers for each id below n
def embed(ids, n, d, std = 1) {
  param w : f32[n, d] = normal(std = std)
  return gather(w, ids)
}

# mean 0 and variance 1 along the last axis, then a trained scale and shift
def layernorm(x : [..., d], eps = 1e-5) {
  param g : f32[d] = ones()
  param b : f32[d] = zeros()
  return layer_norm(x, eps) * g + b
}

# root mean square 1 along the last axis, then a trained scale
def rmsnorm(x : [..., d], eps = 1e-6) {
  param g : f32[d] = ones()
  return rms_norm(x, eps) * g
}

# mean 0 and variance 1 of each of `groups` groups of neighbouring channels of an x [N, C, ...], then a trained
# scale and shift of each channel
def groupnorm(x, groups, eps = 1e-5) {
  n = dim(x, 0)
  c = dim(x, 1)
  param g : f32[dim(x, 1)] = ones()
  param b : f32[dim(x, 1)] = zeros()
  members = reshape(x, [n, groups, c / groups, -1])
  y = reshape(members, [n, groups, -1]) |> layer_norm(eps) |> reshape([n, c, -1])
  return reshape(y * reshape(g, [c, 1]) + reshape(b, [c, 1]), shape(x))
}

# `out` filters of k taps (or [rows, columns]) over images [N, C, H, W]; keeps the size at stride 1
def conv(x, out, k, stride = 1, pad = "same", dilation = 1, groups = 1, bias = true) {
  param w : f32[out, dim(x, 1) / groups, pair(k)[0], pair(k)[1]] = he()
  y = conv2d(x, w, stride, pad, dilation, groups)
  if bias {
    param b : f32[out] = zeros()
    y = y + reshape(b, [out, 1, 1])
  }
  return y
}

# the transpose of a convolution with `out` result channels: images of (n - 1) stride - 2 pad + k places from n
def conv_transpose(x, out, k, stride = 1, pad = 0, output_pad = 0, dilation = 1, groups = 1,
                   bias = true) {
  param w : f32[dim(x, 1), out / groups, pair(k)[0], pair(k)[1]] = he()
  y = conv_transpose2d(x, w, stride, pad, output_pad, dilation, groups)
  if bias {
    param b : f32[out] = zeros()
    y = y + reshape(b, [out, 1, 1])
  }
  return y
}

# mean 0 and variance 1 of each channel of x [N, C, ...], then a trained scale and shift. Training
# takes the moments of the batch and moves the running ones towards them, which all else takes.
def bn(x, momentum = 0.1, eps = 1e-5) {
  c = dim(x, 1)
  param g : f32[dim(x, 1)] = ones()
  param b : f32[dim(x, 1)] = zeros()
  state running_mean : f32[dim(x, 1)] = zeros()
  state running_var : f32[dim(x, 1)] = ones()
  if not training { return batch_norm(x, running_mean, running_var, g, b, eps) }
  axes = [0, 2, 3]
  if len(shape(x)) < 4 { axes = [0, 2] if len(shape(x)) == 3 else [0] }
  n = prod(shape(x)) / c
  m = mean(x, axis = axes)
  v = var(x, axis = axes)
  running_mean := (1 - momentum) * running_mean + momentum * m
  running_var := (1 - momentum) * running_var + momentum * n / max(n - 1, 1) * v
  return batch_norm(x, m, v, g, b, eps)
}

# ---- one step of a recurrent layer: cell(x[:, t], h) as cell in a loop ----

# tanh(x @ wx + h @ wh + b)
def rnn(x : [..., d], h : [..., units]) {
  param wx : f32[d, units] = glorot()
  param wh : f32[units, units] = orthogonal()
  param b : f32[units] = zeros()
  return tanh(x @ wx + h @ wh + b)
}

# long short-term memory: the next h and c. Columns of the weights: input, forget, cell, output
def lstm(x : [..., d], h : [..., units], c : [..., units]) {
  param wx : f32[d, 4 * units] = glorot()
  param wh : f32[units, 4 * units] = glorot()
  param b : f32[4 * units] = zeros()
  i, f, g, o = split(x @ wx + h @ wh + b, 4, axis = -1)
  c = sigmoid(f) * c + sigmoid(i) * tanh(g)
  return sigmoid(o) * tanh(c), c
}

# gated recurrent unit. Columns of the weights: reset, update, new; the reset gate is on h @ wh + bh
def gru(x : [..., d], h : [..., units]) {
  param wx : f32[d, 3 * units] = glorot()
  param wh : f32[units, 3 * units] = glorot()
  param bx : f32[3 * units] = zeros()
  param bh : f32[3 * units] = zeros()
  xr, xz, xn = split(x @ wx + bx, 3, axis = -1)
  hr, hz, hn = split(h @ wh + bh, 3, axis = -1)
  z = sigmoid(xz + hz)
  n = tanh(xn + sigmoid(xr + hr) * hn)
  return (1 - z) * n + z * h
}

# ---- attention ----

# [b, t, heads * d] to [b, heads, t, d]
def to_heads(x : [b, t, c], heads) { return transpose(reshape(x, [b, t, heads, -1]), [0, 2, 1, 3]) }
def from_heads(x : [b, heads, t, d]) { return reshape(transpose(x, [0, 2, 1, 3]), [b, t, heads * d]) }

# multi-head attention of x with itself
def mha(x : [b, t, c], heads, causal = false, bias = true) {
  q, k, v = split(linear(x, 3 * c, bias) as qkv, 3, axis = -1)
  y = attention(to_heads(q, heads), to_heads(k, heads), to_heads(v, heads), causal)
  return linear(from_heads(y), c, bias) as proj
}

# multi-head attention of one new row x a call with itself and all rows before it: keys and values
# of up to `most` rows are kept, `at` is the number of this one
def mha_step(x : [b, 1, c], heads, at, most, bias = true) {
  q, k, v = split(linear(x, 3 * c, bias) as qkv, 3, axis = -1)
  state keys : f32[b, heads, most, c / heads] = zeros()
  state values : f32[b, heads, most, c / heads] = zeros()
  keys := dynamic_update(keys, to_heads(k, heads), at, axis = 2)
  values := dynamic_update(values, to_heads(v, heads), at, axis = 2)
  y = attention(to_heads(q, heads), keys, values, mask = iota(most) <= at)
  return linear(from_heads(y), c, bias) as proj
}

# ---- activations ----

# x times the normal distribution function of x; approx: by tanh
def gelu(x, approx = false) {
  if approx { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x ** 3))) }
  return 0.5 * x * (1 + erf(0.7071067811865476 * x))
}

def silu(x) { return x * sigmoid(x) }
def leaky_relu(x, slope = 0.01) { return where(x > 0, x, slope * x) }
def elu(x, alpha = 1) { return where(x > 0, x, alpha * expm1(min(x, 0))) }
def softplus(x) { return relu(x) + log1p(exp(-abs(x))) }

# ---- losses: one number each; xent is built in ----

def mse(y, target) { return mean((y - target) ** 2) }

# binary cross entropy of logits and targets between 0 and 1
def bce(logits, target) {
  return mean(relu(logits) - logits * target + log1p(exp(-abs(logits))))
}

# quadratic up to delta, linear beyond
def huber(y, target, delta = 1) {
  a = abs(y - target)
  return mean(where(a <= delta, 0.5 * a * a, delta * (a - 0.5 * delta)))
}

# ---- sums in logarithms ----

# log(exp(a) + exp(b)), exact for large numbers
def logaddexp(a, b) {
  m = stop_gradient(max(a, b))
  m = where(abs(m) < inf, m, 0)
  return m + log(exp(a - m) + exp(b - m))
}

# log(sum(exp(x))) of each element and all before it, along the last axis
def logcumsumexp(x : [..., n]) {
  columns = transpose(reshape(x, [-1, n]))
  y = where(columns[0] == columns[0], -inf, columns[0])   # of x's dtype
  ys = scan i in 0..n {
    y = logaddexp(y, columns[i])
    yield y
  }
  return reshape(transpose(ys), shape(x))
}

# ---- shapes ----

def flatten(x) { return reshape(x, [dim(x, 0), -1]) }
def global_avg_pool(x : [n, c, h, w]) { return mean(x, axis = [2, 3]) }

# ---- initialisers: `shape` is the declared shape; zeros, ones, const, normal, uniform are built in ----

# numbers that feed one output, and outputs that one number feeds: [in, out] or [out, in, window...]
def fans(shape) {
  if len(shape) < 2 { return prod(shape), prod(shape) }
  if len(shape) == 2 { return shape[0], shape[1] }
  window = prod(shape[2:])
  return shape[1] * window, shape[0] * window
}

# uniform, variance 2 / (fan_in + fan_out)
def glorot(shape) {
  fan_in, fan_out = fans(shape)
  a = sqrt(6 / (fan_in + fan_out))
  return uniform(-a, a, shape)
}

# normal, variance 2 / fan_in
def he(shape) {
  fan_in, fan_out = fans(shape)
  return normal(std = sqrt(2 / fan_in), shape = shape)
}

# rows (or columns, where they are fewer) of length 1 at right angles: Newton's iteration
# x (3 - x'x) / 2 drives every singular value to 1
def orthogonal(shape, gain = 1) {
  x = reshape(normal(shape = shape), [shape[0], -1])
  x = x / sqrt(sum(x * x))
  for i in 0..40 {
    if dim(x, 0) <= dim(x, 1) { x = 1.5 * x - 0.5 * (x @ x') @ x }
    else { x = 1.5 * x - 0.5 * x @ (x' @ x) }
  }
  return gain * reshape(x, shape)
}

# ---- optimizers: called for each param p with its gradient g ----

# gradient descent; decay is added to the gradient
def sgd(p, g, lr, momentum = 0, nesterov = false, decay = 0) {
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
