# ---- along an axis, and by index ----

# cumulative product along an axis
def cumprod(x : tensor, axis : int = -1) {
  r, at = rank(x), axis % rank(x)
  to = []                                     # the axes, this one and the first exchanged
  for i in 0..r { to = to + [at if i == 0 else 0 if i == at else i] }
  rows = transpose(x, to)
  y = broadcast(type_as(1, x), shape(rows[0]))
  ys = scan i in 0..dim(rows, 0) {
    y = y * rows[i]
    yield y
  }
  return transpose(ys, to)
}

# x [V, D…] with row ids[i] replaced by y[i], for ids [I…] and y [I…, D…]; of equal ids the last counts
def scatter(x : tensor, ids : indices, y : tensor) {
  n, k = dim(x, 0), prod(shape(ids))
  row = shape(x)[1:] if rank(x) > 1 else []
  at = gather(iota(n), reshape(ids, [k]))     # the ids, checked as those of any gather
  order = argsort(at)                         # equal ids keep their order
  sorted = gather(at, order)
  ends = sorted != gather(sorted, min(iota(k) + 1, k - 1)) or iota(k) == k - 1
  last = scatter_add(zeros([n], i32), sorted, where(ends, order + 1, 0))
  hit = [n]                                   # the shape of last, with an axis of 1 for each of a row
  for d in 0..len(row) { hit = hit + [1] }
  new = gather(reshape(broadcast(y, shape(ids) + row), [k] + row), max(last - 1, 0))
  return where(reshape(last > 0, hit), new, x)
}

# one class for each row of logits [..., C], drawn by softmax(logits)
def categorical(logits : floats) {
  return argmax(logits - log(-log(uniform(1e-7, 1, shape = shape(logits)))))
}
