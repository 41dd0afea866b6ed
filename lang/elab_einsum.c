/* einsum: sums of products over axes that letters name, as transposes, sums and one product.
   Contract: one or two tensors, "..." is not in it; a letter names one extent; letters that stand
   in one tensor alone and not in the result are summed there first. Of two tensors the letters that
   both have are a batch where the result has them, else the depth of the product; so nothing larger
   than operands and result is made. */
#include "lang/elab_builtin.h"

enum { LETTERS = 128 };

typedef struct Side {
  Val x;
  char axis[64]; /* the letter of each axis, in order; ends with 0 */
} Side;

typedef struct Einsum {
  Site *s;
  Side in[2];
  int n;
  char out[64];
  int64_t dim[LETTERS]; /* by letter; 0: not met */
} Einsum;

static bool has(const char *axes, char c) { return c && strchr(axes, c) != NULL; }

/* "ij,jk->ik" into the sides; false after an error. */
static bool read_spec(Einsum *m, const char *spec) {
  Site *s = m->s;
  int side = 0, at = 0;
  bool result = false;
  for (const char *p = spec; *p; p++) {
    if (*p == ' ') continue;
    if (*p == ',' && !result && side == 0) {
      side = 1, at = 0;
    } else if (*p == '-' && p[1] == '>' && !result) {
      result = true, at = 0, p++;
    } else if (((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')) && at < 63) {
      char *axes = result ? m->out : m->in[side].axis;
      if (has(axes, *p))
        return fail(s->e, s->at[0], "einsum names axis '%c' twice in one part of \"%s\"", *p, spec),
               false;
      axes[at++] = *p;
    } else {
      elab_error(s->e, s->at[0], "einsum cannot read '%c' in \"%s\"", *p, spec);
      elab_hint(s->e, "letters name axes: \"ij,jk->ik\"");
      elab_trace(s->e);
      return false;
    }
  }
  if (side + 1 != m->n)
    return fail(s->e, s->at[0], "\"%s\" is of %d tensor%s, but %d %s given", spec, side + 1,
                side ? "s" : "", m->n, m->n == 1 ? "is" : "are"),
           false;
  if (!result)
    return fail(s->e, s->at[0], "einsum needs its result behind '->' in \"%s\"", spec), false;
  return true;
}

static bool read_dims(Einsum *m) {
  Elab *e = m->s->e;
  for (int i = 0; i < m->n; i++) {
    const Type *t = m->in[i].x.tensor.type;
    const char *axes = m->in[i].axis;
    if ((int)strlen(axes) != t->rank)
      return fail(e, m->s->at[i + 1], "\"%s\" names %d axes of %s", axes, (int)strlen(axes),
                  val_str(e, m->in[i].x)),
             false;
    for (int k = 0; k < t->rank; k++) {
      int64_t *d = &m->dim[(int)axes[k]];
      if (i && has(m->in[0].axis, axes[k]) && *d != t->dim[k])
        return fail(e, m->s->loc, "axis '%c' is %lld in the first tensor and %lld in the second",
                    axes[k], (long long)*d, (long long)t->dim[k]),
               false;
      *d = t->dim[k];
    }
  }
  for (const char *p = m->out; *p; p++)
    if (!has(m->in[0].axis, *p) && !has(m->in[1].axis, *p))
      return fail(e, m->s->at[0], "einsum's result has axis '%c', but no tensor has", *p), false;
  return true;
}

/* Letters of `axes` that are (not) in each of two others. */
static void pick(const char *axes, const char *a, bool in_a, const char *b, bool in_b, char *out) {
  for (; *axes; axes++)
    if (has(a, *axes) == in_a && has(b, *axes) == in_b) *out++ = *axes;
  *out = 0;
}

/* Sums what only this side has and the result has not. */
static void sum_alone(Einsum *m, int side) {
  Side *x = &m->in[side];
  int64_t axes[64];
  int n = 0, kept = 0;
  for (int i = 0; x->axis[i]; i++) {
    if (has(m->out, x->axis[i]) || has(m->in[!side].axis, x->axis[i]))
      x->axis[kept++] = x->axis[i];
    else
      axes[n++] = i;
  }
  x->axis[kept] = 0;
  x->x = val_tensor(m->s->e, build_reduce(at(m->s->e, m->s->loc), OP_SUM, x->x.tensor.id, axes, n));
}

static ValueId ordered(Einsum *m, ValueId v, const char *from, const char *to) {
  int64_t perm[64];
  for (int i = 0; to[i]; i++) perm[i] = strchr(from, to[i]) - from;
  return build_transpose(at(m->s->e, m->s->loc), v, perm);
}

static int64_t extent(const Einsum *m, const char *axes) {
  int64_t n = 1;
  for (; *axes; axes++) n *= m->dim[(int)*axes];
  return n;
}

/* The side as [batch, rows, columns], each some letters. */
static ValueId as_matrices(Einsum *m, int side, const char *batch, const char *rows,
                           const char *columns) {
  Elab *e = m->s->e;
  const Side *x = &m->in[side];
  const char *order = arena_printf(e->a, "%s%s%s", batch, rows, columns);
  ValueId v = ordered(m, x->x.tensor.id, x->axis, order);
  int64_t dim[3] = {extent(m, batch), extent(m, rows), extent(m, columns)};
  return build_reshape(at(e, m->s->loc), v, type_get(e->c, x->x.tensor.type->dtype, 3, dim));
}

static Val two(Einsum *m) {
  Elab *e = m->s->e;
  char batch[64], rows[64], columns[64], depth[64];
  const char *a = m->in[0].axis, *b = m->in[1].axis;
  pick(a, b, true, m->out, true, batch);
  pick(a, b, false, m->out, true, rows);
  pick(b, a, false, m->out, true, columns);
  pick(a, b, true, m->out, false, depth);
  ValueId x = as_matrices(m, 0, batch, rows, depth), y = as_matrices(m, 1, batch, depth, columns);
  ValueId z = build_matmul(at(e, m->s->loc), x, y, false, false);
  const char *have = arena_printf(e->a, "%s%s%s", batch, rows, columns);
  int64_t dim[64];
  int rank = (int)strlen(have);
  for (int i = 0; i < rank; i++) dim[i] = m->dim[(int)have[i]];
  Dtype dt = m->in[0].x.tensor.type->dtype;
  z = build_reshape(at(e, m->s->loc), z, type_get(e->c, dt, rank, dim));
  return val_tensor(e, ordered(m, z, have, m->out));
}

Val builtin_einsum(Site *s) {
  Elab *e = s->e;
  Einsum m = {.s = s, .n = s->v[2].kind == VAL_NONE ? 1 : 2};
  for (int i = 0; i < m.n; i++) {
    m.in[i].x = val_to_tensor(e, s->v[i + 1], s->name, s->at[i + 1]);
    if (m.in[i].x.kind == VAL_POISON) return poison;
  }
  if (m.n == 2 && m.in[0].x.tensor.type->dtype != m.in[1].x.tensor.type->dtype) {
    elab_error(e, s->loc, "einsum needs tensors of one dtype: %s and %s", val_str(e, m.in[0].x),
               val_str(e, m.in[1].x));
    elab_hint(e, "convert one of them, as in f32(x)");
    return elab_trace(e);
  }
  if (!read_spec(&m, s->v[0].str) || !read_dims(&m)) return poison;
  if (m.in[0].x.tensor.type->dtype == DT_BOOL)
    return fail(e, s->at[1], "einsum needs numbers, found %s", val_str(e, m.in[0].x));
  for (int i = 0; i < m.n; i++) sum_alone(&m, i);
  if (m.n == 2) return two(&m);
  return val_tensor(e, ordered(&m, m.in[0].x.tensor.id, m.in[0].axis, m.out));
}
