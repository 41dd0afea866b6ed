# functions.g: elementary functions, conversions and forms of kernels, for a comparison with the CPU's bits
let N = 4096                                  # elements
let R = 64                                    # rows
let C = 300                                   # columns

entry functions(x : f32[N], y : f32[N]) {
  return e = exp(x), e1 = expm1(x), l = log(abs(x)), l1 = log1p(abs(x)), s = sin(x), c = cos(x), t = tanh(x),
         g = sigmoid(x), r = sqrt(abs(x)), p = abs(x) ** y, q = x / y, m = x % y, third = x / 3,
         f = erf(x), least = min(x, y), most = max(x, y), whole = i32(x), near = round(x), bytes = u8(abs(x))
}

entry halves(x : f32[N], y : f32[N]) {
  h = f16(x) * f16(y)
  b = bf16(x) + bf16(y)
  return h = f32(h), b = f32(b), hh = f32(f16(exp(x))), bb = f32(bf16(x / y))
}

entry rows(x : f32[R, C], label : u8[R]) {
  return soft = softmax(x), logs = log_softmax(x), loss = xent(x, label), at = argmax(x), sums = sum(x, axis = 1),
         down = sum(x, axis = 0), all = sum(x), most = max(x, axis = 1)
}

entry moves(table : f32[R, C], ids : i32[N]) {
  param w : f32[R, 8] = normal(1)
  return row = gather(table, ids % R), turned = transpose(table), part = table[3:, ::2], own = gather(w, ids % R)
}

entry draws() {
  return u = uniform(0, 1, shape = [N]), n = normal(1, shape = [N])
}

entry products(a : f32[R, C], b : f32[C, R]) {
  return c = a @ b, r = relu(a @ b + 1)
}
