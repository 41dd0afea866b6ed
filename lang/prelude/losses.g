# ---- losses: scalars; xent is built in ----

def mse(y, target) { return mean((y - target) ** 2) }

# binary cross entropy of logits and targets between 0 and 1; its slope at a logit of 0 is 1 / 2 - target
def bce(logits, target) {
  return mean(max(logits, 0) - logits * target + log1p(exp(-abs(logits))))
}

# quadratic up to delta, linear beyond
def huber(y, target, delta = 1) {
  a = abs(y - target)
  return mean(where(a <= delta, 0.5 * a * a, delta * (a - 0.5 * delta)))
}

# mean cross entropy of logits [..., C] and integer labels [...], or probabilities [..., C]; `smoothing` of each target is
# spread over all classes, and labels equal to `ignore` do not count
def cross_entropy(logits : floats, target : tensor, smoothing : fraction = 0, ignore = none) {
  if rank(target) == rank(logits) {
    if ignore != none { return error("'ignore' of cross_entropy needs integer labels, not probabilities") }
    soft = (1 - smoothing) * target + smoothing / shape(logits)[-1]
    return -mean(sum(soft * log_softmax(logits), axis = -1))
  }
  kept = target == target if ignore == none else target != ignore
  losses = xent(logits, target if ignore == none else where(kept, target, 0))
  if smoothing > 0 { losses = (1 - smoothing) * losses - smoothing * mean(log_softmax(logits), axis = -1) }
  if ignore == none { return mean(losses) }
  return sum(where(kept, losses, 0)) / f32(max(sum(kept), 1))
}

# mean Kullback-Leibler divergence of softmax(q) from softmax(p), both given by logits [..., C]
def kl(p, q) {
  return mean(sum(softmax(p) * (log_softmax(p) - log_softmax(q)), axis = -1))
}

# ---- log-sum-exp ----

# log(sum(exp(x))) along axes, or of all elements, exact for large numbers
def logsumexp(x, axis : ints = none, keep : flag = false) {
  m = stop_gradient(max(x, axis = axis, keep = true))
  m = where(abs(m) < inf, m, 0)
  y = m + log(sum(exp(x - m), axis = axis, keep = true))
  return y if keep else sum(y, axis = axis)
}

# log(exp(a) + exp(b)), exact for large numbers
def logaddexp(a, b) {
  most = max(a, b)
  far = abs(most) == inf                      # there with the slopes of the maximum
  m = stop_gradient(where(far, 0, most))
  first = a >= b                              # log1p of what the larger one is 1 without: of a sum near 1 log has no digit
  more, less = where(first, a, b), where(first, b, a)
  return where(far, most, m + log1p(expm1(where(far, 0, more - m)) + exp(where(far, 0, less - m))))
}

# cumulative log(sum(exp(x))) along the last axis
def logcumsumexp(x : [..., n]) {
  columns = transpose(reshape(x, [-1, n]))
  y = broadcast(type_as(-inf, x), shape(columns[0]))
  ys = scan i in 0..n {
    y = logaddexp(y, columns[i])
    yield y
  }
  return reshape(transpose(ys), shape(x))
}
