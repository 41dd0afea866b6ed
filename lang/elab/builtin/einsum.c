/* einsum: sums of products over axes named by letters, as transposes, sums and matrix products.
   Contract: any number of tensors. A letter of one tensor only that is not in the result is summed
   first. A letter of both operands of a product is a batch axis if the result or a later product
   needs it, else the contracted axis. Products are taken from left to right, so that no size
   decides how sums are added up; a warning says if another order takes less than half the
   multiplications. With --reassociate the order is the one with the fewest: by dynamic programming
   over all subsets for up to MAX_EXACT tensors, greedily while there are more. */
#include "lang/elab/builtin/einsum.h"

#include <math.h>

enum { MAX_EXACT = 10 };

/* ---- one product ---- */

/* The letter is in the result or in a tensor that is neither a nor b. */
static bool is_needed_later(const Einsum *m, int a, int b, char c) {
  for (int i = 0; i < m->n; i++)
    if (i != a && i != b && einsum_has(m->in[i].axis, c)) return true;
  return einsum_has(m->out, c);
}

/* Letters of tensor `of` that are (not) in the other, and (not) needed after the product of both.
 */
static void pick(const Einsum *m, int of, int other, bool both, bool needed, char *out) {
  for (const char *p = m->in[of].axis; *p; p++)
    if (einsum_has(m->in[other].axis, *p) == both && is_needed_later(m, of, other, *p) == needed)
      *out++ = *p;
  *out = 0;
}

/* Sums the letters that no other tensor and not the result have. */
static void sum_alone(Einsum *m, int side) {
  Side *x = &m->in[side];
  int64_t axes[MAX_AXES];
  int n = 0, kept = 0;
  for (int i = 0; x->axis[i]; i++) {
    if (is_needed_later(m, side, side, x->axis[i]))
      x->axis[kept++] = x->axis[i];
    else
      axes[n++] = i;
  }
  x->axis[kept] = 0;
  x->x = val_tensor(m->s->e,
                    build_reduce(elab_at(m->s->e, m->s->loc), OP_SUM, x->x.tensor.id, axes, n));
}

static ValueId ordered(Einsum *m, ValueId v, const char *from, const char *to) {
  int64_t perm[MAX_AXES];
  for (int i = 0; to[i]; i++) perm[i] = strchr(from, to[i]) - from;
  return build_transpose(elab_at(m->s->e, m->s->loc), v, perm);
}

/* The dim of these axes as one; 0: it is too large. */
static int64_t joined(const Einsum *m, const char *axes) {
  int64_t n = 1;
  for (; *axes && n; axes++) n = axis_product(m->s->e->c, n, m->axis[(int)*axes]);
  return n;
}

/* The side as [batch, rows, columns], each some letters; NO_ID after an error. */
static ValueId as_matrices(Einsum *m, int side, const char *batch, const char *rows,
                           const char *columns) {
  Elab *e = m->s->e;
  const Side *x = &m->in[side];
  const char *order = arena_printf(e->a, "%s%s%s", batch, rows, columns);
  ValueId v = ordered(m, x->x.tensor.id, x->axis, order);
  int64_t dim[3] = {joined(m, batch), joined(m, rows), joined(m, columns)};
  const Type *t = type_get(e->c, x->x.tensor.type->dtype, 3, dim);
  if (!t || (!x->x.tensor.type->numel != (!dim[0] || !dim[1] || !dim[2])))
    return elab_fail(e, m->s->loc, "einsum joins axes of %s to more than 2147483647",
                     val_str(e, x->x)),
           NO_ID;
  return build_reshape(elab_at(e, m->s->loc), v, t);
}

/* The product replaces the first operand, and the last tensor the second. False after an error. */
static bool multiply(Einsum *m, int a, int b) {
  Elab *e = m->s->e;
  char batch[MAX_AXES + 1], rows[MAX_AXES + 1], columns[MAX_AXES + 1], depth[MAX_AXES + 1];
  pick(m, a, b, true, true, batch);
  pick(m, a, b, false, true, rows);
  pick(m, b, a, false, true, columns);
  pick(m, a, b, true, false, depth);
  Side *to = &m->in[a];
  const char *have = arena_printf(e->a, "%s%s%s", batch, rows, columns);
  int64_t dim[MAX_AXES];
  int rank = (int)strlen(have);
  for (int i = 0; i < rank; i++) dim[i] = m->axis[(int)have[i]];
  const Type *t = type_get(e->c, to->x.tensor.type->dtype, rank, dim);
  if (!t)
    return elab_fail(e, m->s->loc, "einsum makes a tensor of more bytes than can be addressed"),
           false;
  ValueId x = as_matrices(m, a, batch, rows, depth), y = as_matrices(m, b, batch, depth, columns);
  if (x == NO_ID || y == NO_ID) return false;
  ValueId z = build_matmul(elab_at(e, m->s->loc), x, y, false, false);
  to->x = val_tensor(e, build_reshape(elab_at(e, m->s->loc), z, t));
  memcpy(to->axis, have, (size_t)rank + 1);
  m->in[b] = m->in[--m->n];
  return true;
}

/* ---- the order of products ---- */

static double length_of(const Einsum *m, int letter) {
  const Extent *x = axis_extent(m->s->e->c, m->axis[letter]);
  return x ? (double)axis_multiple(m->axis[letter]) * (double)x->bound : (double)m->axis[letter];
}

/* Multiplications in the product of tensors with these letters, at the bounds. */
static double work(const Einsum *m, const bool *letter) {
  double n = 1;
  for (int c = 0; c < LETTERS; c++)
    if (letter[c]) n *= length_of(m, c);
  return n;
}

/* Letters of the tensors in the set that are needed outside of it. */
static void letters_of(const Einsum *m, unsigned set, bool letter[LETTERS]) {
  memset(letter, 0, LETTERS * sizeof *letter);
  for (int i = 0; i < m->n; i++)
    for (const char *p = m->in[i].axis; set >> i & 1 && *p; p++) {
      bool outside = einsum_has(m->out, *p);
      for (int k = 0; k < m->n && !outside; k++)
        outside = !(set >> k & 1) && einsum_has(m->in[k].axis, *p);
      letter[(int)*p] |= outside;
    }
}

static double work_of_sets(const Einsum *m, unsigned x, unsigned y) {
  bool a[LETTERS], b[LETTERS];
  letters_of(m, x, a);
  letters_of(m, y, b);
  for (int c = 0; c < LETTERS; c++) a[c] |= b[c];
  return work(m, a);
}

/* Multiplies the two whose product is the least work. */
static bool multiply_cheapest(Einsum *m) {
  int a = 0, b = 1;
  double min_work = INFINITY;
  for (int i = 0; i < m->n; i++)
    for (int k = i + 1; k < m->n; k++) {
      bool letter[LETTERS] = {false};
      for (const char *p = m->in[i].axis; *p; p++) letter[(int)*p] = true;
      for (const char *p = m->in[k].axis; *p; p++) letter[(int)*p] = true;
      double w = work(m, letter);
      if (w < min_work) min_work = w, a = i, b = k;
    }
  return multiply(m, a, b);
}

/* Multiplies the tensors of the set by the best splits. Returns the index of the product in
   `where`, which holds the current positions of the tensors, or -1. */
static int multiply_set(Einsum *m, const unsigned *split, unsigned set, int *where, int n) {
  if (!split[set]) { /* one tensor */
    int i = 0;
    while (!(set >> i & 1)) i++;
    return i;
  }
  int a = multiply_set(m, split, split[set], where, n);
  int b = a < 0 ? -1 : multiply_set(m, split, set & ~split[set], where, n);
  if (b < 0) return -1;
  int last = m->n - 1, hole = where[b];
  if (!multiply(m, where[a], hole)) return -1;
  for (int i = 0; i < n; i++)
    if (where[i] == last) where[i] = hole;
  return a;
}

/* By set: the part of its best split that has the first tensor; 0 of one tensor. Returns the
   multiplications of all. */
static double best_splits(const Einsum *m, unsigned *split) {
  const unsigned all = (1u << m->n) - 1;
  double *min_work = ARENA_ARRAY(m->s->e->a, double, all + 1);
  for (unsigned set = 1; set <= all; set++) {
    unsigned low = set & -set;
    if (set == low) continue; /* one tensor is there */
    min_work[set] = INFINITY;
    for (unsigned part = (set - 1) & set; part; part = (part - 1) & set) {
      if (!(part & low)) continue; /* each split once */
      double w = min_work[part] + min_work[set & ~part] + work_of_sets(m, part, set & ~part);
      if (w < min_work[set]) min_work[set] = w, split[set] = part;
    }
  }
  return min_work[all];
}

/* Says that another order is much less work, and which two tensors come first in it. */
static void warn_of_order(const Einsum *m, const unsigned *split, double least) {
  Elab *e = m->s->e;
  double work = 0;
  for (int i = 1; i < m->n; i++) work += work_of_sets(m, (1u << i) - 1, 1u << i);
  if (work <= 2 * least) return;
  unsigned set = (1u << m->n) - 1;
  while (__builtin_popcount(set) > 2) {
    unsigned part = split[set];
    set = part & (part - 1) ? part : set & ~part;
  }
  int first = 0, second = 0;
  while (!(set >> first & 1)) first++;
  for (second = first + 1; !(set >> second & 1);) second++;
  elab_warning(e, m->s->loc,
               "einsum multiplies %d tensors from left to right: %.3g multiplications, where the "
               "fewest are %.3g",
               m->n, work, least);
  if (e->options->imported) {
    elab_hint(e, "--reassociate takes the cheapest order");
    return;
  }
  elab_hint(e, "multiply tensors %d and %d first: name them first, or in an einsum of their own",
            first + 1, second + 1);
}

static bool multiply_in_order(Einsum *m) {
  while (m->n > 1) {
    if (!multiply(m, 0, 1)) return false;
    if (m->n < 3) continue;
    Side last = m->in[1]; /* which has taken the second one's place */
    memmove(m->in + 1, m->in + 2, sizeof *m->in * (size_t)(m->n - 2));
    m->in[m->n - 1] = last;
  }
  return true;
}

static bool multiply_all(Einsum *m) {
  const bool in_order = !m->s->e->options->reassociate;
  while (!in_order && m->n > MAX_EXACT)
    if (!multiply_cheapest(m)) return false;
  unsigned *split = NULL;
  if (m->n <= MAX_EXACT) {
    split = ARENA_ARRAY(m->s->e->a, unsigned, 1u << m->n);
    double least = best_splits(m, split);
    if (in_order && m->n > 2) warn_of_order(m, split, least);
  }
  if (in_order) return multiply_in_order(m);
  int where[MAX_EXACT], n = m->n;
  for (int i = 0; i < n; i++) where[i] = i;
  return multiply_set(m, split, (1u << n) - 1, where, n) >= 0;
}

Val builtin_einsum(BuiltinCall *s) {
  Elab *e = s->e;
  const ValList *more = arg(s, "more").list;
  Einsum m = {.s = s, .spec = arg(s, "spec").str, .n = 1 + more->n};
  m.in = ARENA_ARRAY(e->a, Side, m.n);
  for (int i = 0; i < m.n; i++) {
    Loc loc = i ? more->at[i - 1].loc : arg_loc(s, "x");
    m.in[i].x = val_to_tensor(e, i ? more->at[i - 1] : arg(s, "x"), s->name, loc);
    if (m.in[i].x.kind == VAL_ERROR) return error_value;
    m.in[i].x.loc = loc;
    if (m.in[i].x.tensor.type->dtype == m.in[0].x.tensor.type->dtype) continue;
    elab_error(e, s->loc, "einsum needs tensors of one dtype: %s and %s", val_str(e, m.in[0].x),
               val_str(e, m.in[i].x));
    elab_hint(e, "convert one of them, as in f32(x)");
    return elab_trace(e);
  }
  if (m.in[0].x.tensor.type->dtype == DT_BOOL)
    return elab_fail(e, arg_loc(s, "x"), "einsum needs numbers, found %s", val_str(e, m.in[0].x));
  if (!einsum_read(&m)) return error_value;
  for (int i = 0; i < m.n; i++) sum_alone(&m, i);
  if (!multiply_all(&m)) return error_value;
  return val_tensor(e, ordered(&m, m.in[0].x.tensor.id, m.in[0].axis, m.out));
}
