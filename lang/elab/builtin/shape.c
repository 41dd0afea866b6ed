/* Built-in functions that move elements: reshape, transpose, broadcast, pad, reverse and their kin.
   Contract: numpy's rules; an empty result is an error, so every dim is at least 1. */
#include "lang/elab/builtin/builtin.h"

#include <ctype.h>

static Val too_large(BuiltinCall *s) {
  return elab_fail(s->e, arg_loc(s, "shape"),
                   "a tensor of this shape has more bytes than can be addressed");
}

static const char *shape_text(Elab *e, const int64_t *dim, int n) {
  const char *t = "[";
  for (int i = 0; i < n; i++)
    t = intern_printf(e->c, "%s%s%s", t, i ? ", " : "", axis_str(e->c, dim[i]));
  return intern_printf(e->c, "%s]", t);
}

/* The number of elements of a shape, "8 n"; a dim of -1 counts as 1. */
static const char *count_text(Elab *e, const int64_t *dim, int n, int64_t at_bound) {
  int64_t count = 1;
  for (int i = 0; i < n && count; i++)
    if (dim[i] != -1) count = axis_product(e->c, count, dim[i]);
  return count ? axis_str(e->c, count) : intern_printf(e->c, "%lld", (long long)at_bound);
}

Val builtin_reshape(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  int n = arg(s, "shape").list->n, open = -1;
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, n + 1), known = 1, numel = x.tensor.type->numel;
  const Extent *rest = NULL; /* the product of those of x that no dim of the shape has taken */
  const Type *from = x.tensor.type;
  for (int i = 0; i < from->rank; i++) {
    const Extent *one = type_extent(from, i);
    if (one) rest = rest ? extent_product(e->c, rest, one) : one;
    if (one && !rest) return too_large(s);
  }
  for (int i = 0; i < n; i++) {
    Val one = arg(s, "shape").list->at[i];
    dim[i] = one.kind == VAL_EXTENT ? one.extent.axis : one.i;
    if (axis_is_bounded(dim[i])) {
      const Extent *x1 = axis_extent(e->c, dim[i]);
      const Extent *without = rest && x1 != rest ? extent_quotient(e->c, rest, x1) : NULL;
      if (x1 == rest || without) rest = without;
      if (__builtin_mul_overflow(known, axis_multiple(dim[i]) * x1->bound, &known))
        return too_large(s);
      continue;
    }
    if (dim[i] == -1 && open >= 0)
      return elab_fail(e, arg_loc(s, "shape"), "only one dim of a new shape may be -1");
    if (dim[i] == -1)
      open = i;
    else if (dim[i] < 1)
      return elab_fail(e, arg_loc(s, "shape"),
                       "a dim must be at least 1 (or -1: what is left), found %lld",
                       (long long)dim[i]);
    else if (__builtin_mul_overflow(known, dim[i], &known))
      return too_large(s);
  }
  if (open >= 0 && numel % known == 0) {
    const bool bounded = rest && numel / known % rest->bound == 0;
    const int64_t left = bounded ? numel / known / rest->bound : numel / known;
    if (bounded && left > INT32_MAX) return too_large(s);
    dim[open] = bounded ? axis_of_extent(rest, left) : left;
  } else if (open >= 0 || known != numel) {
    const int64_t *dims = type_axes(from, ARENA_ARRAY(e->a, int64_t, from->rank + 1));
    elab_error(e, arg_loc(s, "shape"), "%s with %s elements cannot become %s%s", val_str(e, x),
               count_text(e, dims, from->rank, numel), shape_text(e, dim, n),
               open < 0 ? intern_printf(e->c, " with %s", count_text(e, dim, n, known)) : "");
    elab_note_tensor(e, "it", x);
    return elab_trace(e);
  }
  const Type *t = type_get(e->c, x.tensor.type->dtype, n, dim);
  if (from->extent || (t && t->extent)) {
    if (t == from) return x;
    return build_checked(e, OP_RESHAPE, &x, 1, NULL, t, s->name, s->loc);
  }
  return val_tensor(e, build_reshape(elab_at(e, s->loc), x.tensor.id, t));
}

Val builtin_transpose(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  int rank = x.tensor.type->rank;
  int64_t *perm = ARENA_ARRAY(e->a, int64_t, rank + 1);
  const Ints *given = NULL;
  if (arg(s, "perm").kind != VAL_NONE) {
    given = val_to_ints(e, arg(s, "perm"), INT64_MIN, "'perm' of transpose", arg_loc(s, "perm"));
    if (!given) return error_value;
    if (given->n != rank) {
      elab_error(e, arg_loc(s, "perm"), "%s has %d axes, but the permutation names %d",
                 val_str(e, x), rank, given->n);
      elab_note_tensor(e, "it", x);
      return elab_trace(e);
    }
  }
  for (int i = 0; i < rank; i++) {
    perm[i] = rank - 1 - i;
    if (given && !axis_of(e, given->at[i], rank, x, s->name, arg_loc(s, "perm"), &perm[i]))
      return error_value;
    for (int k = 0; k < i; k++)
      if (perm[k] == perm[i])
        return elab_fail(e, arg_loc(s, "perm"), "transpose names axis %lld twice",
                         (long long)perm[i]);
  }
  return val_tensor(e, build_transpose(elab_at(e, s->loc), x.tensor.id, perm));
}

Val builtin_broadcast(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  const Ints *dims = val_to_dims(e, arg(s, "shape"), "a dim", arg_loc(s, "shape"));
  if (!dims) return error_value;
  const Type *t = type_get(e->c, x.tensor.type->dtype, dims->n, dims->at);
  if (!t) return too_large(s);
  return build_checked(e, OP_BROADCAST, &x, 1, NULL, t, s->name, s->loc);
}

/* Counts for every axis: as listed, or one for all. */
static const Ints *counts_per_axis(BuiltinCall *s, const char *name, int rank) {
  Elab *e = s->e;
  Loc loc = arg_loc(s, name);
  const Ints *l = val_to_ints(e, arg(s, name), 0, "a count of 'pad'", loc);
  if (!l || l->n == rank) return l;
  if (l->n != 1)
    return elab_fail(e, loc, "pad needs a count for each of %d axes, or one for all, found %d",
                     rank, l->n),
           NULL;
  int64_t *all = ARENA_ARRAY(e->a, int64_t, rank + 1);
  for (int i = 0; i < rank; i++) all[i] = l->at[0];
  return intern_ints(e->c, all, rank);
}

Val builtin_pad(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  const Type *t = x.tensor.type;
  const Ints *lo = counts_per_axis(s, "lo", t->rank), *hi = counts_per_axis(s, "hi", t->rank);
  if (!lo || !hi) return error_value;
  int64_t *axis = ARENA_ARRAY(e->a, int64_t, t->rank + 1);
  const Type *to = NULL;
  for (int i = 0; i < t->rank && (t->extent || !i); i++) {
    int64_t more;
    if (__builtin_add_overflow(lo->at[i], hi->at[i], &more)) return too_large(s);
    axis[i] = axis_and_more(e->c, type_axis(t, i), more);
    if (axis[i] || !type_extent(t, i)) continue;
    elab_error(e, s->loc, "pad needs a static extent along axis %d of %s", i, val_str(e, x));
    elab_hint(e, "%s and %lld more are no dim: a run may have less than what was taken away",
              axis_str(e->c, type_axis(t, i)), (long long)more);
    return elab_trace(e);
  }
  if (t->extent && !(to = type_get(e->c, t->dtype, t->rank, axis))) return too_large(s);
  int64_t *none = ARENA_ARRAY(e->a, int64_t, t->rank + 1);
  if (!val_is_number(arg(s, "value")) && arg(s, "value").kind != VAL_BOOL)
    return elab_fail(e, arg_loc(s, "value"),
                     "pad needs a compile-time number for 'value', found %s",
                     val_str(e, arg(s, "value")));
  Val value = val_to_const(e, arg(s, "value"), type_scalar(e->c, t->dtype), arg_loc(s, "value"));
  if (value.kind == VAL_ERROR) return value;
  Attr number;
  if (!value_const(e->run->entry, value.tensor.id, &number)) gc_bug(e->c, "pad without a constant");
  Attr attr[MAX_ATTRS] = {[AT_VALUE] = number,
                          [AT_LO] = {.ints = lo},
                          [AT_HI] = {.ints = hi},
                          [AT_INTERIOR] = {.ints = intern_ints(e->c, none, t->rank)}};
  return build_checked(e, OP_PAD, &x, 1, attr, to, s->name, s->loc);
}

Val builtin_reverse(BuiltinCall *s) {
  Elab *e = s->e;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  const Ints *axes;
  if (!arg_axes(s, "axis", x, &axes)) return error_value;
  int64_t *fixed = ARENA_ARRAY(e->a, int64_t, axes->n + 1);
  int n = 0;
  for (int i = 0; i < axes->n; i++) {
    int axis = (int)axes->at[i];
    if (type_extent(x.tensor.type, axis))
      x = val_tensor(e, build_reversed(elab_at(e, s->loc), x.tensor.id, axis));
    else
      fixed[n++] = axis;
  }
  if (n == 0) return x;
  Attr attr[MAX_ATTRS] = {[AT_AXES] = {.ints = intern_ints(e->c, fixed, n)}};
  return build_checked(e, OP_REVERSE, &x, 1, attr, NULL, s->name, s->loc);
}

Val builtin_shape(BuiltinCall *s) {
  if (arg(s, "x").kind != VAL_TENSOR) return val_list(s->e, VAL_LIST, NULL, 0, s->loc);
  const Type *t = arg(s, "x").tensor.type;
  Val *dim = ARENA_ARRAY(s->e->a, Val, t->rank + 1);
  for (int i = 0; i < t->rank; i++) dim[i] = val_dim(type_axis(t, i), s->loc);
  return val_list(s->e, VAL_LIST, dim, t->rank, s->loc);
}

Val builtin_rank(BuiltinCall *s) {
  Val x = arg(s, "x");
  return val_int(x.kind == VAL_TENSOR ? x.tensor.type->rank : 0, s->loc);
}

/* Of a param or state as it is: a value that was computed from one has no path. */
Val builtin_path(BuiltinCall *s) {
  Val p = arg(s, "p");
  if (p.kind == VAL_TENSOR && p.tensor.path)
    return (Val){.kind = VAL_STR, .loc = s->loc, .str = p.tensor.path};
  return elab_fail(s->e, arg_loc(s, "p"), "path needs a param or state, found %s",
                   val_str(s->e, p));
}

Val builtin_dim(BuiltinCall *s) {
  int64_t axis;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  if (!arg_axis(s, "axis", x, &axis)) return error_value;
  return val_dim(type_axis(x.tensor.type, (int)axis), s->loc);
}

/* "1, 2, 4 and 8"; of many the first and the last. */
static const char *divisors(Elab *e, int64_t n) {
  enum { SHOWN = 12, EACH = SHOWN / 2 };
  VEC(int64_t) low = {0}, high = {0};
  for (int64_t d = 1; d <= n / d; d++) {
    if (n % d) continue;
    vec_push(e->a, &low, d);
    if (d != n / d) vec_push(e->a, &high, n / d);
  }
  uint32_t all = low.n + high.n;
  const char *text = "";
  for (uint32_t i = 0; i < all; i++) {
    bool gap = all > SHOWN && i == EACH;
    if (gap) i = all - EACH;
    text =
        intern_printf(e->c, "%s%s%s%lld", text,
                      i == 0         ? ""
                      : i + 1 == all ? " and "
                                     : ", ",
                      gap ? "…, " : "", (long long)(i < low.n ? low.at[i] : high.at[all - 1 - i]));
  }
  return text;
}

/* The outermost def of the prelude that has the argument, as mha around to_heads; or the def. */
static const Func *owner_of(const Frame *fr, const char *argument) {
  const Func *f = fr->env->func;
  for (; fr && fr->env->func && fr->env->func->prelude; fr = fr->up) {
    const Decl *d = fr->env->func->decl;
    for (int i = 0; i < d->function.n; i++)
      if (strcmp(d->function.params[i].name.name, argument) == 0) f = fr->env->func;
  }
  return f;
}

/* The argument is named as the caller writes it, so a layer's heads are its 'heads'. */
Val builtin_quotient(BuiltinCall *s) {
  Elab *e = s->e;
  int64_t n = arg(s, "n").i, by = arg(s, "by").i;
  if (n % by == 0) return val_int(n / by, s->loc);
  const char *argument = source_slice(e, arg_loc(s, "by"));
  const Func *f = owner_of(e->frame, argument);
  if (f && isalpha((unsigned char)argument[0]))
    elab_error(e, arg_loc(s, "by"), "'%s' of %s must divide %lld, found %lld", argument, f->name,
               (long long)n, (long long)by);
  else
    elab_error(e, arg_loc(s, "by"), "%lld does not divide %lld", (long long)by, (long long)n);
  if (n <= INT32_MAX) /* of more the search takes long */
    elab_hint(e, "the divisors of %lld: %s", (long long)n, divisors(e, n));
  return elab_trace(e);
}

Val builtin_len(BuiltinCall *s) {
  Val v = arg(s, "list");
  if (v.kind != VAL_LIST && v.kind != VAL_TUPLE)
    return elab_fail(s->e, arg_loc(s, "list"), "len needs a compile-time list, found %s",
                     val_str(s->e, v));
  return val_int(v.list->n, s->loc);
}

Val builtin_list(BuiltinCall *s) {
  Val v = arg(s, "x");
  if (v.kind == VAL_LIST || v.kind == VAL_TUPLE) return v;
  if (!val_is_number(v) && v.kind != VAL_BOOL)
    return elab_fail(s->e, arg_loc(s, "x"), "list needs a compile-time number or list, found %s",
                     val_str(s->e, v));
  return val_list(s->e, VAL_LIST, &v, 1, s->loc);
}

Val builtin_pair(BuiltinCall *s) {
  Val v = arg(s, "x"), two[2] = {v, v};
  if (v.kind == VAL_LIST && (v.list->n == 1 || v.list->n == 2))
    two[0] = v.list->at[0], two[1] = v.list->at[v.list->n - 1];
  if (!val_is_number(two[0]) || !val_is_number(two[1]))
    return elab_fail(s->e, arg_loc(s, "x"),
                     "pair needs a compile-time number, or a list of one or two, found %s",
                     val_str(s->e, v));
  return val_list(s->e, VAL_LIST, two, 2, s->loc);
}

Val builtin_known(BuiltinCall *s) {
  ValKind k = arg(s, "x").kind;
  return val_bool(k != VAL_TENSOR && k != VAL_EXTENT && k != VAL_TREE, s->loc);
}
