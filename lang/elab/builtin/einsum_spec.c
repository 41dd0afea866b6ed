/* The spec of an einsum, "bij,b...j->bi...": which letter names which axis of each tensor.
   Contract: as in numpy. "..." stands for the axes of a tensor that no letter names; those of
   several tensors meet from the last on, and where one has a single element the other's extent
   holds. A letter that stands twice in a tensor names its diagonal, which is a slice: of the axes
   as one, every (n + 1)-th element. A result that is not written has the axes of "...", then the
   letters that stand once, in the alphabet's order. */
#include "lang/elab/builtin/einsum.h"

static const char dots = '.'; /* in a side's axes, until their number is known */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool cannot_read(Einsum *m, char c) {
  Elab *e = m->s->e;
  elab_error(e, arg_loc(m->s, "spec"), "einsum cannot read '%c' in \"%s\"", c, m->spec);
  elab_hint(e, "letters name axes, ... those without a letter: \"ij,jk->ik\", \"...ij,jk->...ik\"");
  return elab_trace(e), false;
}

/* The spec's parts as they are written. */
static bool read_parts(Einsum *m, bool *result) {
  BuiltinCall *s = m->s;
  int side = 0, at = 0;
  *result = false;
  for (const char *p = m->spec; *p; p++) {
    if (*p == ' ') continue;
    bool some = *p == '.' && p[1] == '.' && p[2] == '.';
    if (*p == ',' && !*result) {
      side++, at = 0;
    } else if (*p == '-' && p[1] == '>' && !*result) {
      *result = true, at = 0, p++;
    } else if ((is_letter(*p) || some) && at < MAX_WRITTEN) {
      if (some) p += 2;
      if (side >= m->n && !*result) continue; /* counted below */
      char *axes = *result ? m->out : m->in[side].axis;
      if (some && einsum_has(axes, dots))
        return elab_fail(s->e, arg_loc(s, "spec"), "einsum has \"...\" twice in one part of \"%s\"",
                         m->spec),
               false;
      if (*result && einsum_has(axes, *p))
        return elab_fail(s->e, arg_loc(s, "spec"),
                         "einsum's result names axis '%c' twice in \"%s\"", *p, m->spec),
               false;
      axes[at++] = some ? dots : *p;
    } else {
      return cannot_read(m, *p);
    }
  }
  if (side + 1 == m->n) return true;
  elab_fail(s->e, arg_loc(s, "spec"), "\"%s\" is of %d tensor%s, but %d %s given", m->spec,
            side + 1, side ? "s" : "", m->n, m->n == 1 ? "is" : "are");
  return false;
}

/* ---- axes without a letter ---- */

/* Puts n codes in place of the dots. */
static void put_dots(char *axes, int n) {
  char *at = strchr(axes, dots);
  if (!at) return;
  memmove(at + n, at + 1, strlen(at));
  for (int i = 0; i < n; i++) at[i] = (char)(n - i);
}

static const char *as_written(Einsum *m, const char *axes) {
  char *t = ARENA_ARRAY(m->s->e->a, char, MAX_WRITTEN + 6), *to = t;
  for (; *axes; axes++) {
    memcpy(to, is_letter(*axes) ? axes : "...", 3);
    to += is_letter(*axes) ? 1 : 3;
  }
  *to = 0;
  return t;
}

/* How many axes "..." is at most, or -1 after an error. */
static int name_dots(Einsum *m) {
  Elab *e = m->s->e;
  int max_dots = 0;
  for (int i = 0; i < m->n; i++) {
    Side *x = &m->in[i];
    int rank = x->x.tensor.type->rank, named = (int)strlen(x->axis);
    bool some = einsum_has(x->axis, dots);
    x->written = as_written(m, x->axis);
    int n = rank - (named - some);
    if (some ? n < 0 : n != 0)
      return elab_fail(e, x->x.loc, "\"%s\" names %d axes of %s", x->written, named - some,
                       val_str(e, x->x)),
             -1;
    if (some && (n > MAX_DOTS || rank > MAX_AXES))
      return elab_fail(e, x->x.loc, "einsum takes \"...\" for %d axes at most, found %s", MAX_DOTS,
                       val_str(e, x->x)),
             -1;
    put_dots(x->axis, n);
    if (some && n > max_dots) max_dots = n;
  }
  return max_dots;
}

/* ---- letters that stand twice in a tensor ---- */

/* The axes of letter c, of n elements each, become one, their diagonal, which comes last. */
static bool take_diagonal(Einsum *m, Side *x, char c, int64_t n) {
  Elab *e = m->s->e;
  Builder *b = elab_at(e, m->s->loc);
  const Type *t = x->x.tensor.type;
  int64_t perm[MAX_AXES], dim[MAX_AXES], start[MAX_AXES] = {0}, step[MAX_AXES];
  int rest = 0, times = 0;
  for (int i = 0; i < t->rank; i++)
    if (x->axis[i] != c) perm[rest] = i, dim[rest++] = type_axis(t, i);
  for (int i = 0; i < t->rank; i++) {
    if (x->axis[i] != c) continue;
    if (type_extent(t, i))
      return elab_fail(e, x->x.loc, "a diagonal needs a static extent along axis '%c' of %s", c,
                       val_str(e, x->x)),
             false;
    if (t->dim[i] != n)
      return elab_fail(e, x->x.loc, "axis '%c' is %lld and %lld in \"%s\"", c, (long long)n,
                       (long long)t->dim[i], x->written),
             false;
    perm[rest + times++] = i;
  }
  int64_t all = 1, apart = 0;
  for (int i = 0; i < times; i++) apart += n ? all : 0, all *= n;
  dim[rest] = all;
  ValueId v = build_transpose(b, x->x.tensor.id, perm);
  v = build_reshape(b, v, type_get(e->c, t->dtype, rest + 1, dim));
  for (int i = 0; i < rest; i++) step[i] = 1;
  step[rest] = apart ? apart : 1;
  dim[rest] = n;
  Attr attr[MAX_ATTRS] = {[AT_STARTS].ints = intern_ints(e->c, start, rest + 1),
                          [AT_STEPS].ints = intern_ints(e->c, step, rest + 1)};
  v = build(b, OP_SLICE, &v, 1, attr, type_get(e->c, t->dtype, rest + 1, dim));
  Loc loc = x->x.loc;
  x->x = val_tensor(e, v);
  x->x.loc = loc;
  int at = 0;
  for (const char *p = x->axis; *p; p++)
    if (*p != c) x->axis[at++] = *p;
  x->axis[at++] = c;
  x->axis[at] = 0;
  return true;
}

static bool take_diagonals(Einsum *m, Side *x) {
  for (int i = 0; x->axis[i]; i++) {
    char c = x->axis[i];
    if (!strchr(x->axis + i + 1, c)) continue;
    if (!take_diagonal(m, x, c, x->x.tensor.type->dim[i])) return false;
    i = -1; /* the others have moved */
  }
  return true;
}

/* ---- extents ---- */

/* Drops axes of "..." with one element where another tensor has more. */
static void drop_single(Einsum *m, Side *x) {
  const Type *t = x->x.tensor.type;
  int64_t dim[MAX_AXES];
  int n = 0;
  for (int i = 0; i < t->rank; i++) {
    char c = x->axis[i];
    if (!is_letter(c) && type_axis(t, i) != m->axis[(int)c]) continue;
    x->axis[n] = c;
    dim[n++] = type_axis(t, i);
  }
  x->axis[n] = 0;
  if (n == t->rank) return;
  Elab *e = m->s->e;
  const Type *less = type_get(e->c, t->dtype, n, dim);
  x->x = val_tensor(e, build_reshape(elab_at(e, m->s->loc), x->x.tensor.id, less));
}

static bool read_dims(Einsum *m) {
  Elab *e = m->s->e;
  const char *first[LETTERS] = {NULL}; /* of the tensor whose extent a letter has */
  for (int i = 0; i < m->n; i++) {
    if (!take_diagonals(m, &m->in[i])) return false;
    const Type *t = m->in[i].x.tensor.type;
    const char *axes = m->in[i].axis;
    for (int k = 0; k < t->rank; k++) {
      int c = (unsigned char)axes[k];
      int64_t axis = type_axis(t, k);
      bool met = first[c] != NULL, differs = met && m->axis[c] != axis;
      const char *was = axis_str(e->c, m->axis[c]), *is = axis_str(e->c, axis);
      if (differs && is_letter((char)c))
        return elab_fail(e, m->s->loc, "axis '%c' is %s in \"%s\" and %s in \"%s\"", c, was,
                         first[c], is, m->in[i].written),
               false;
      if (differs && axis != 1 && m->axis[c] != 1)
        return elab_fail(e, m->s->loc, "an axis of \"...\" is %s in \"%s\" and %s in \"%s\"", was,
                         first[c], is, m->in[i].written),
               false;
      if (differs && axis == 1) continue;
      if (!met || differs) first[c] = m->in[i].written;
      m->axis[c] = axis;
    }
  }
  for (const char *p = m->out; *p; p++)
    if (is_letter(*p) && !first[(int)*p])
      return elab_fail(e, arg_loc(m->s, "spec"), "einsum's result has axis '%c', but no tensor has",
                       *p),
             false;
  for (int i = 0; i < m->n; i++) drop_single(m, &m->in[i]);
  return true;
}

/* ---- the whole ---- */

/* A result that is not written. */
static void lone_axes(Einsum *m, int some) {
  int at = 0;
  if (some) m->out[at++] = dots;
  for (int c = 'A'; c <= 'z'; c++) {
    int n = 0;
    for (int i = 0; i < m->n; i++)
      for (const char *p = m->in[i].axis; *p; p++) n += *p == c;
    if (n == 1) m->out[at++] = (char)c;
  }
}

bool einsum_read(Einsum *m) {
  Elab *e = m->s->e;
  bool result;
  if (!read_parts(m, &result)) return false;
  int some = name_dots(m);
  if (some < 0) return false;
  if (!result) lone_axes(m, some);
  if (some && !einsum_has(m->out, dots))
    return elab_fail(e, arg_loc(m->s, "spec"),
                     "einsum's result lacks \"...\", which stands for %d ax%s of the tensors", some,
                     some == 1 ? "is" : "es"),
           false;
  put_dots(m->out, some);
  return read_dims(m);
}
