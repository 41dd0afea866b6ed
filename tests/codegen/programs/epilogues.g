# What stands behind a product whose rows have several axes, [B, T, C] @ [C, N] and more of them: each
# entry is one kernel a product, forwards and backwards, with operands of every shape that reaches the
# rows. Odd sizes. Run by forms.c, and on the PTX interpreter.
let A = 2
let B = 3
let T = 7
let C = 37
let N = 45

entry cube(x : f32[B, T, C], w : f32[C, N], b : f32[N], r : f32[B, T, N], d : f32[B, T, N]) {
  y = r + gelu(x @ w + b)
  dx, dw, db, dr = grad(sum(y * d), [x, w, b, r])
  return y, dx, dw, db, dr
}
entry four(x : f32[A, B, T, C], w : f32[C, N], v : f32[N, C], b : f32[N], p : f32[T, N], q : f32[B, 1, N], s : f32[A, 1, 1, 1], d : f32[A, B, T, C]) {
  h = tanh((x @ w + b + p) * s - q)
  y = relu(h @ v) + x
  dx, dw, dv, db, dp, dq, ds = grad(sum(y * d), [x, w, v, b, p, q, s])
  return h, y, dx, dw, dv, db, dp, dq, ds
}
# three products of one x: its gradient is a sum of products' rows before it has their axes
entry shared(x : f32[B, T, C], u : f32[C, N], v : f32[C, N], w : f32[C, N], d : f32[B, T, N]) {
  h = x * x
  y = sigmoid(h @ u) * (h @ v) + relu(h @ w)
  dx, du, dv, dw = grad(sum(y * d), [x, u, v, w])
  return y, dx, du, dv, dw
}
# the product itself is wanted, in both shapes, and what follows it before and behind the reshape
entry both(x : f32[21, C], w : f32[C, N], r : f32[B, T, N], m : f32[21, N]) {
  p = x @ w
  h = relu(p) * m
  y = reshape(h, [B, T, N]) + r
  return p, q = reshape(p, [B, T, N]), h, y, z = f16(reshape(y, [21, N])) * 2
}
# other places: a turned operand, positions, parts, single rows and columns
entry places(x : f32[B, T, C], w : f32[C, N], r : f32[T, B, N], s : f32[B, 2 * T, N + 2], c : f32[B, T, 1], one : f32[1, C], t : f32[1, T, C]) {
  y = x @ w
  a = y * transpose(r, [1, 0, 2]) + c
  e = x @ w[:, :N - 1] + s[:, ::2, 1 : N] + f32(reshape(iota(T), [T, 1]))
  return a, e, f = relu(reshape(one @ w, [N])), g = tanh(t @ w) - c[:1], h = relu(x @ w[:, :1]) * c, i = y + f32(iota(N))
}
entry added(x : f32[B, T, C], w : f32[C, N], r : f32[B, T, N]) { return y = r + x @ w, z = r }
entry deep(x : f32[B, T, 1100], w : f32[1100, N], b : f32[N], r : f32[B, T, N]) { return y = relu(x @ w + b) + r }
entry batch(x : f32[A, B, T, C], y : f32[A, B, C, N], r : f32[6, T, N], s : f32[T, 1]) { return a = reshape(x @ y, [A * B, T, N]) * s - r }
entry types(x : f32[B, T, C], w : f32[C, N], i : i32[B, T, C], j : i32[C, N], r : f32[B, T, N]) {
  h = f16(x) @ f16(w)
  return a = relu(h + f16(r)), b = f32(bf16(x) @ bf16(w)) * r, c = tanh(f64(x) @ f64(w)) - 1, d = i @ j + 3, e = x @ w < r
}
entry looped(x : f32[4, B, T, N], w : f32[N, N], b : f32[N], d : f32[B, T, N]) {
  h = zeros([B, T, N])
  scan i in 0..4 { h = tanh(h @ w * 0.1 + b) + x[i] }
  return h, dx = grad(sum(h * d), x), dw = grad(sum(h * d), w)
}
# dropout is there in training alone: its positions are those of the whole tensor
entry train(x : f32[A, B, T, C], r : f32[A, B, T, N], d : f32[A, B, T, N]) {
  h = x |> linear(N) as up |> gelu
  y = r + dropout(linear(h, N) as down, 0.25)
  z = dropout(reshape(h, [A * B * T, N]) @ normal(shape = [N, N]), 0.5)
  loss = mean((y - d) ** 2) + mean(z * z)
  minimize loss with adamw(0.01, clip = 1)
  return loss, y, z
}
