# Products in tf32 that round what they read, params and inputs: each way that operands lie, a batch, parts of the depth,
# few rows, what is read behind views, bounded rows and depth, rows that begin anywhere, and a step of training.
entry ways(a : f32[136, 72], b : f32[72, 200], c : f32[200, 72], d : f32[72, 136]) {
  return along = a @ transpose(c), left = a @ b, across = transpose(d) @ b, right = transpose(d) @ transpose(c)
}
entry batch(x : f32[3, 72, 68], y : f32[3, 68, 136]) { return z = relu(x @ y) }
entry parts(x : f32[32, 1400], w : f32[1400, 36]) { return y = x @ w }
entry deep(x : f32[136, 1400], w : f32[72, 1400], b : f32[72]) { return y = x @ transpose(w) + b }
entry few(x : f32[2, 72], w : f32[72, 136]) { return y = x @ w }
entry shown(x : f32[2, 64, 72], w : f32[72, 136]) { return y = reshape(x, [128, 72]) @ w, z = x[1] @ w }
entry bounded(x : f32[n <= 300, 72], y : f32[n, 68], w : f32[72, 136]) { return y = x @ w, z = transpose(x) @ y }
entry odd(x : f32[136, 71], w : f32[71, 136]) { return y = x @ w }
entry train(x : f32[72, 68], t : u8[72]) {
  loss = mean(xent(linear(relu(linear(x, 136) as a), 64) as b, t))
  minimize loss with sgd(1e-2)
  return loss
}
