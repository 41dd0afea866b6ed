# RUN: %gc %s --emit=ir -O0 --passes= | FileCheck-14 %s
# RUN: sed 's/N, 6/n <= 8, 6/; s/\[N\]/[n]/' %s >%t.g
# RUN: %gc %t.g --emit=ir -O0 --passes= | FileCheck-14 %s
# How outputs of batches make those of all rows: a return names it where it is not usual.
let N = 8
entry means(x : f32[N, 6], y : i32[N]) {
  each = xent(linear(x, 3), y)
  a = mean(x, axis = 1)
  return a = mean(a), b = 1 - mean(each), c = sum(each), d = mean(a) + 2 * mean(each), e = -max(a), f = max(each) + 1, g = perplexity(mean(each))
}
# CHECK: names = "a,b,c,d,e,f,g", aggregates = "mean,mean,sum,mean,min,max,exp-mean"
entry more(x : f32[N, 6], y : i32[N]) {
  a = sum(x, axis = 1)
  return a = sqrt(mean(a * a)), b = 3 ** mean(a), c = log(max(a)), d = max(min(a), 1), e = min(max(a), max(2 * a)), f = sum(a) + 1, g = sum(y == 1), h = max(a) * 0
}
# a maximum that is bounded below is no maximum of minima; a constant that is added to a sum would be counted in each batch
# CHECK: names = "a,b,c,d,e,f,g,h", aggregates = "rms,exp-mean,max,each,each,each,sum,each"
entry picked(x : f32[N, 6], on : bool[]) {
  s = sum(x)
  return a = where(on, s, 0), b = where(on, s, 1), c = where(on, mean(x), 1), d = where(on, max(x), min(x)), e = where(s > 0, s, 0)
}
# the same side in all batches: another number than zero would be counted in each
# CHECK: names = "a,b,c,d,e", aggregates = "sum,each,mean,each,each"
entry arrays(x : f32[N, 6], y : i32[N]) {
  g = x' @ x
  return g, trace = sum(einsum("ii->i", g)), column = mean(x, axis = 0)[1:3], high = max(x, axis = 0) * -2, m = confusion(x, y), f = f1(confusion(x, y)), row = x * 2
}
# CHECK: names = "g,trace,column,high,m,f,row", aggregates = "sum,sum,mean,min,sum,each,each"
entry moved(x : f32[N, 6], y : i32[N]) {
  pairs = reshape(x, [-1, 3, 2])
  t = transpose(pairs, [2, 0, 1])
  flat = reshape(x, [-1])
  c = x[:, 0]
  loss = zeros([])
  hs = scan i in 0..6 {
    c = c * 0.5 + x[:, i]
    loss = loss + mean(c)
    yield c
  }
  image = conv(reshape(x, [-1, 1, 2, 3]), 4, 1)
  return t = sum(t, axis = 1), flat = max(flat), pool = mean(max_pool(image, 1)), norm = mean(layernorm(x)), table = sum(embed(y, 5, 4), axis = 0), one = sum(one_hot(y, 4), axis = 0), c = max(c), hs = sum(hs, axis = 1), loss
}
# CHECK: names = "t,flat,pool,norm,table,one,c,hs,loss", aggregates = "sum,max,mean,mean,sum,sum,max,sum,mean"
# What depends on the batch as a whole, and what an assigned state makes of all batches, is no aggregate.
entry none(x : f32[N, 6], y : i32[N]) {
  state seen : f32 = 0
  seen := seen + sum(x)
  z = x - mean(x, axis = 0)
  return a = mean(z * z), b = std(x), c = norm(x), d = sum(x) / sum(x * x), e = x[0], f = max(cumsum(x, axis = 0)), g = argmax(sum(x, axis = 1)), seen, h = sum(x) * mean(x)
}
# CHECK: names = "a,b,c,d,e,f,g,seen,h", aggregates = "each,each,each,each,each,each,each,each,each"
# Rows that stand behind another axis, and joined with it: [6, N, d] as [6 N, d] and back.
entry steps(x : f32[N, 6], y : i32[N]) {
  h = relu(linear(reshape(x', [6, -1, 1]), 4) as up)
  flat = reshape(h, [-1, 4])
  each = xent(linear(flat, 3) as down, reshape(broadcast(y, shape(x')), [-1]))
  image = reshape(flat, [6, -1, 2, 2])
  return loss = mean(each), total = sum(flat, axis = 0), high = max(image, axis = [0, 1]), gram = flat' @ flat, mixed = sum(flat * reshape(h, [-1, 4])), odd = max(reshape(transpose(h, [2, 1, 0]), [-1])), turned = sum(flat[:, 0] * reshape(x, [-1]))
}
# CHECK: names = "loss,total,high,gram,mixed,odd,turned", aggregates = "mean,sum,max,sum,sum,max,each"
# The usual: means of floats, and elements of rows. An entry that trains has no rows to aggregate over.
entry usual(x : f32[N, 6], y : i32[N]) { return loss = mean(x), x = x + 1, five = 5.0, n = 3 }
# CHECK: names = "loss,x,five,n"}
# Sums over rows that are all the same, or over a batch's mean in each of its rows, depend on how many rows the batch has.
entry same_rows(x : f32[n <= 8, 6], w : f32[6]) {
  u = full([n, 6], 2.0)
  return a = sum(full([n], 1.0)), b = sum(u * w), c = sum(u @ reshape(w, [6, 1])), d = sum(broadcast(mean(x), [n])), e = sum(x * u), f = mean(x + w)
}
# CHECK: names = "a,b,c,d,e,f", aggregates = "each,each,each,each,sum,mean"
# Lengths that a run has: products over [n * t, d], their results as [n, t, d], heads; and steps before rows.
entry texts(x : i32[n <= 8, t <= 5], y : i32[n]) {
  h = relu(linear(embed(x, 9, 4) as table, 6) as a)
  q = to_heads(h, 2)
  seen = reshape(x != 0, [n, 1, 1, t])
  z = mean(linear(from_heads(attention(q, q, q, mask = seen)), 3) as b, axis = 1)
  turned = transpose(h, [1, 0, 2])
  return loss = mean(xent(z, y)), accuracy = mean(argmax(z) == y), total = sum(reshape(h, [n * t, 6]), axis = 0), high = max(linear(turned, 2) as c), moved = max(reshape(turned, [t * n, 6]), axis = 0), odd = sum(reshape(turned, [n * t, 6]) * reshape(h, [n * t, 6]))
}
# CHECK: names = "loss,accuracy,total,high,moved,odd", aggregates = "mean,mean,sum,max,max,each"
