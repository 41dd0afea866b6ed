# ---- metrics: of logits [n, c] and integer labels [n] ----

# the share of rows whose label is among the k largest logits
def top_k(logits : [n, c], label : [n], k : count) {
  value, id = topk(logits, k)
  return mean(sum(f32(id == i32(label)[:, none]), axis = 1))
}

# how often each label (row) was taken for each class (column): f32[c, c], exact up to 2**24 rows; sums over batches add up
def confusion(logits : [n, c], label : [n]) {
  return one_hot(label, c)' @ one_hot(argmax(logits), c)
}

# of each class, from a confusion matrix: the share of its predictions that are right, and of its rows that are found;
# 0 for a class without any
def precision(m : [c, c]) { return diagonal(m) / max(sum(m, axis = 0), 1) }
def recall(m : [c, c]) { return diagonal(m) / max(sum(m, axis = 1), 1) }

# of each class, from a confusion matrix: the harmonic mean of precision and recall; mean(f1(m)) is the macro average
def f1(m : [c, c]) { return 2 * diagonal(m) / max(sum(m, axis = 0) + sum(m, axis = 1), 1) }
def diagonal(m : [n, n]) { return einsum("ii->i", m) }

# of a mean cross entropy in nats
def perplexity(loss) { return exp(loss) }
