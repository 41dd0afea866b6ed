# ---- activations ----

# x times the Gaussian distribution function of x; approx: the tanh approximation
def gelu(x, approx : flag = false) {
  # beyond 10 the tanh is 1: so no square is infinite, nor a slope NaN
  if approx { return 0.5 * x * (1 + tanh(0.7978845608028654 * x * (1 + 0.044715 * min(x * x, 100)))) }
  return 0.5 * x * (1 + erf(0.7071067811865476 * x))
}

def silu(x) { return x * sigmoid(x) }
def leaky_relu(x, slope = 0.01) { return where(x > 0, x, slope * x) }
def elu(x, alpha = 1) { return where(x > 0, x, alpha * expm1(where(x > 0, 0, x))) }

# log(1 + exp(x)), with the slope 1 / 2 at 0
def softplus(x) { return max(x, 0) + log1p(exp(-abs(x))) }
