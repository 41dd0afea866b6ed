# ---- losses: scalars; xent is built in ----

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

# ---- log-sum-exp ----

# log(exp(a) + exp(b)), exact for large numbers
def logaddexp(a, b) {
  m = stop_gradient(max(a, b))
  m = where(abs(m) < inf, m, 0)
  return m + log(exp(a - m) + exp(b - m))
}

# cumulative log(sum(exp(x))) along the last axis
def logcumsumexp(x : [..., n]) {
  columns = transpose(reshape(x, [-1, n]))
  y = where(columns[0] == columns[0], -inf, columns[0])  # of x's dtype
  ys = scan i in 0..n {
    y = logaddexp(y, columns[i])
    yield y
  }
  return reshape(transpose(ys), shape(x))
}
