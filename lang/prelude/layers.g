# The prelude: layers, losses, optimizers and the rest of the library, in the language itself. These files are compiled
# into gc. Read them to learn the language; a program may redefine any of these names.

# ---- layers: their params and states have the path of the call, as in net.fc1.w ----

# x @ w + b over the last axis; w begins with what the initialiser gives
def linear(x : [..., d], units : count, bias : flag = true, init : function = glorot) {
  param w : f32[d, units] = init()
  y = x @ w
  if bias {
    param b : f32[units] = zeros()
    y = y + b
  }
  return y
}

# embedding: row ids of a table of n rows of d elements, which begin normal with `std` or as `init` says
def embed(ids : indices, n : count, d : count, std = 1, init : function = none) {
  param w : f32[n, d] = normal(std = std) if init == none else init()
  return gather(w, ids)
}

# layer normalization along the last axis, then a trained scale and shift
def layernorm(x : [..., d], eps : fraction = 1e-5) {
  param g : f32[d] = ones()
  param b : f32[d] = zeros()
  return layer_norm(x, eps) * g + b
}

# normalization to root mean square 1 along the last axis, then a trained scale
def rmsnorm(x : [..., d], eps : fraction = 1e-6) {
  param g : f32[d] = ones()
  return rms_norm(x, eps) * g
}

# group normalization: each of `groups` groups of adjacent channels of x [N, C, ...] has mean 0 and variance 1; then a
# trained scale and shift of each channel
def groupnorm(x : floats, groups : count, eps : fraction = 1e-5) {
  n = dim(x, 0)
  c = dim(x, 1)
  param g : f32[dim(x, 1)] = ones()
  param b : f32[dim(x, 1)] = zeros()
  members = reshape(x, [n, groups, quotient(c, groups), -1])
  y = reshape(members, [n, groups, -1]) |> layer_norm(eps) |> reshape([n, c, -1])
  return reshape(y * reshape(g, [c, 1]) + reshape(b, [c, 1]), shape(x))
}

# each channel of each image has mean 0 and variance 1; then a trained scale and shift of each channel of x [N, C, ...]
def instancenorm(x : floats, eps : fraction = 1e-5) {
  c = dim(x, 1)
  param g : f32[dim(x, 1)] = ones()
  param b : f32[dim(x, 1)] = zeros()
  y = layer_norm(reshape(x, [dim(x, 0), c, -1]), eps)
  return reshape(y * reshape(g, [c, 1]) + reshape(b, [c, 1]), shape(x))
}

# `out` filters of k taps over sequences [N, C, L]; keeps the length at stride 1
def conv1(x : [n, c, l], out : count, k : count, stride : count = 1, pad = "same", dilation : count = 1,
          groups : count = 1, bias : flag = true, init : function = he) {
  param w : f32[out, quotient(c, groups), k] = init()
  y = conv1d(x, w, stride, pad, dilation, groups)
  if bias {
    param b : f32[out] = zeros()
    y = y + reshape(b, [out, 1])
  }
  return y
}

# `out` filters of k taps (or [rows, columns]) over images [N, C, H, W]; keeps the size at stride 1
def conv(x : floats, out : count, k : ints, stride : ints = 1, pad = "same", dilation : ints = 1,
         groups : count = 1, bias : flag = true, init : function = he) {
  param w : f32[out, quotient(dim(x, 1), groups), pair(k)[0], pair(k)[1]] = init()
  y = conv2d(x, w, stride, pad, dilation, groups)
  if bias {
    param b : f32[out] = zeros()
    y = y + reshape(b, [out, 1, 1])
  }
  return y
}

# transposed convolution with `out` output channels: an axis of n elements becomes (n - 1) stride - 2 pad + k
def conv_transpose(x : floats, out : count, k : ints, stride : ints = 1, pad = 0, output_pad : ints = 0,
                   dilation : ints = 1, groups : count = 1, bias : flag = true, init : function = he) {
  param w : f32[dim(x, 1), quotient(out, groups), pair(k)[0], pair(k)[1]] = init()
  y = conv_transpose2d(x, w, stride, pad, output_pad, dilation, groups)
  if bias {
    param b : f32[out] = zeros()
    y = y + reshape(b, [out, 1, 1])
  }
  return y
}

# batch normalization of each channel of x [N, C, ...], then a trained scale and shift. Training uses the statistics of the
# batch and updates the running statistics; inference uses the running statistics.
def bn(x : floats, momentum : fraction = 0.1, eps : fraction = 1e-5) {
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
  running_mean := (1 - momentum) * running_mean + momentum * f32(m)
  running_var := (1 - momentum) * running_var + momentum * n / max(n - 1, 1) * f32(v)
  return batch_norm(x, m, v, g, b, eps)
}
