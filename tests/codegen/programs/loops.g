# Loops as programs have them: kept keys, scheduled sampling, states and indices of what was just computed, two
# loops that meet, rows along any axis. Inputs of whole numbers are folded into range first.
let T = 6

# attention to what has been read so far, with keys and values kept by the loop itself
entry cache(x : f32[2, T, 8]) {
  keys, values = zeros([2, T, 8]), zeros([2, T, 8])
  out = scan t in 0..T {
    row = x[:, t]
    keys = dynamic_update(keys, tanh(row), t, axis = 1)
    values = dynamic_update(values, row, t, axis = 1)
    s = where(iota(T) <= t, sum(keys * reshape(row, [2, 1, 8]), axis = 2), -inf)
    yield einsum("bt,btd->bd", softmax(s), values)
  }
  return out, keys
}

# keys that are packed once for some blocks of queries, in other groups for other numbers of threads
entry blocks(q : bf16[2, 2, 150, 24], k : bf16[2, 1, 150, 24], v : bf16[2, 1, 150, 40]) {
  return y = attention(q, k, v, causal = true)
}

# what the net said last, or the truth, by chance
entry sampling(tokens : i32[4, T]) {
  truth = abs(tokens) % 11
  last, h, loss = zeros([4], dtype = i32), zeros([4, 8]), zeros([])
  scan i in 0..T {
    h = rnn(embed(last, 11, 8) as chars, h) as cell
    logits = linear(h, 11) as out
    loss = loss + mean(xent(logits, truth[:, i])) / T
    last = where(bernoulli(0.3, shape = [4]), argmax(logits), truth[:, i])
  }
  minimize loss with adam(1e-2)
  return loss
}

# places that the loop has just found, and two states
entry found(x : f32[4, 9]) {
  state seen : f32[9] = const(0.5)
  state count : i64 = zeros()
  best = scan i in 0..4 {
    seen := 0.9 * seen + 0.1 * x[i]
    v, at = topk(seen * x[i], 3)
    yield concat([v, gather(seen, at), sort(x[i])[:2]])
  }
  count := count + 4
  return best, m = mean(seen), count
}

# forth, and back over what came of it; trained over two runs
def there_and_back(x : [b, t, d], h) {
  hs = scan i in 0..t {
    h = gru(x[:, i], h) as cell
    yield h
  }
  scan i in 0..t { h = h * 0.5 + hs[t - 1 - i] * (linear(h, 4) as mix) }
  return h
}
entry twice(x : f32[3, 5, 6], y : f32[3, 4]) {
  a = there_and_back(x, zeros([3, 4])) as first
  loss = mse(there_and_back(x[:, ::-1], a) as second, y)
  minimize loss with adamw(cosine(1e-3, steps = 10, warmup = 2), clip = 0.5, accumulate = 2)
  return loss
}

# rows of what is outside and of what the loop changes, by the counter and by data
entry rows(x : f32[3, 5, 4, 6], u : u8[3, 5], z : f32[2, 3, 5], h : f32[3, 5, 4]) {
  j = i32(u[0, 0]) % 3
  far = i64(u) * 3000000000
  scan i in 0..5 {
    h = tanh(h * 0.5 + dynamic_slice(h, i, 1, axis = 1) + reshape(x[:, i, :, 1] * x[:, 4 - i, 0:1, 2], [3, 1, 4]))
    s = f32(u[:, i]) / 255 + f32(far[:, i] % 7) + z[:, :, i][0] + x[:, i, j, j] + x[1, i, 0, j]
    h = h + reshape(s, [3, 1, 1]) * 0.01 + mean(dynamic_slice(x, j, 2, axis = 2))
  }
  return y = h + h[:, j, j][0], part = dynamic_slice(x, j, 2, axis = -1), one = z[:, :, j]
}
