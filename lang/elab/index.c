/* Indexing of tensors and lists: x[3], x[1:4], x[::-1], x[..., 0].
   Contract: numpy's rules. Negative indices count from the end; slices are clamped; an index out of
   range is an error; a negative step is a slice that is reversed. An empty result is an error. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

/* The elements that an index takes of one axis: `count` from `start` by `step`, which may be
   negative. */
typedef struct IndexSpec {
  int64_t start, step, count;
  int64_t axis; /* as type_get takes it, of a slice that ends at an extent; else 0 */
  bool drop;    /* a single index: the axis is dropped */
  bool dynamic; /* a single index that is a run-time value */
  Val index;
} IndexSpec;

/* The axis or list of n elements that is indexed. */
typedef struct Axis {
  Val of;
  int number; /* -1: a list */
  int64_t n;
} Axis;

static const char *axis_text(Elab *e, const Axis *a) {
  return a->number < 0 ? "a list"
                       : intern_printf(e->c, "axis %d of %s", a->number, val_str(e, a->of));
}

static bool bound(Elab *e, const Expr *x, int64_t *out) {
  static const char what[] = "a slice bound",
                    hint[] = "n places from a run-time start on: dynamic_slice(x, start, n)";
  if (!x) return true;
  Val v = elab_eval_one(e, x);
  return val_is_known(e, v, what, hint, x->loc) && val_to_int(e, v, INT64_MIN, what, x->loc, out);
}

static int64_t clip(int64_t i, int64_t lo, int64_t hi) { return i < lo ? lo : i > hi ? hi : i; }

static bool slice_spec(Elab *e, const Index *ix, const Axis *a, IndexSpec *out) {
  int64_t step = 1, n = a->n, start, stop;
  if (!bound(e, ix->step, &step)) return false;
  if (step == 0 || step == INT64_MIN)
    return elab_fail(e, ix->loc, "the step of a slice must not be %lld", (long long)step), false;
  start = step > 0 ? 0 : n - 1;
  stop = step > 0 ? n : -1;
  int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? n : n - 1;
  if (!bound(e, ix->start, &start) || !bound(e, ix->stop, &stop)) return false;
  if (ix->start) start = clip(start < 0 ? start + n : start, lo, hi);
  if (ix->stop) stop = clip(stop < 0 ? stop + n : stop, lo, hi);
  int64_t span = step > 0 ? stop - start : start - stop, by = step > 0 ? step : -step;
  int64_t count = span > 0 ? (span - 1) / by + 1 : 0;
  if (count == 0)
    return elab_fail(e, ix->loc, "this slice of %s is empty: from %lld to %lld by %lld of %lld",
                     axis_text(e, a), (long long)start, (long long)stop, (long long)step,
                     (long long)n),
           false;
  *out = (IndexSpec){.start = start, .step = step, .count = count};
  return true;
}

/* range: of an index that loops compute; NULL: it is a number. */
static bool out_of_range(Elab *e, const Index *ix, int64_t i, const Axis *a,
                         const IndexRange *range) {
  elab_error(e, ix->loc, "index %lld is outside of %s of %lld", (long long)i, axis_text(e, a),
             (long long)a->n);
  if (range) hint_end_of_loop(e, range, a->n);
  elab_trace(e);
  return false;
}

/* An index computed from loop counters: checks its range, and makes a negative one count from the
   end. */
static bool normalize_index(Elab *e, const Index *ix, const Axis *a, Val *index) {
  const IndexRange *c = index_range_of(e, index->tensor.id);
  int64_t i, n = a->n;
  if (index_range_outside(e, c, n, &i)) return out_of_range(e, ix, i, a, c);
  if (!c->known || c->lo >= 0) return true;
  Builder *b = elab_at(e, ix->loc);
  ValueId k = index->tensor.id;
  if (n > INT32_MAX) k = build_convert(b, k, DT_I64);
  const Type *t = value_type(e->run->entry, k);
  ValueId all = build_const_int(b, t, n);
  if (type_extent(a->of.tensor.type, a->number))
    all = extent_tensor(e, val_dim(type_axis(a->of.tensor.type, a->number), ix->loc), t, ix->loc)
              .tensor.id;
  ValueId from_end = build2(b, OP_ADD, k, all);
  if (c->hi >= 0) {
    ValueId negative = build2(b, OP_LT, k, build_const_int(b, t, 0));
    from_end = build(b, OP_WHERE, (ValueId[]){negative, from_end, k}, 3, NULL, NULL);
  }
  *index = val_tensor(e, from_end);
  return true;
}

static bool index_spec(Elab *e, const Index *ix, Val v, const Axis *a, IndexSpec *out) {
  if (v.kind == VAL_ERROR) return false;
  if (v.kind == VAL_TENSOR) {
    if (v.tensor.type->rank == 0 && dtype_is_int(v.tensor.type->dtype)) {
      *out = (IndexSpec){.step = 1, .count = a->n, .dynamic = true, .index = v};
      return !e->run->scan || normalize_index(e, ix, a, &out->index);
    }
    elab_error(e, ix->loc, "an index is an integer or an integer scalar, not %s", val_str(e, v));
    if (dtype_is_int(v.tensor.type->dtype)) elab_hint(e, "rows by integer ids: gather(x, ids)");
    if (v.tensor.type->dtype == DT_BOOL)
      elab_hint(e, "shapes are static: where(mask, x, 0) keeps the shape of x");
    elab_trace(e);
    return false;
  }
  int64_t i, n = a->n;
  if (!val_to_int(e, v, INT64_MIN, "an index", ix->loc, &i)) return false;
  if (i < -n || i >= n) return out_of_range(e, ix, i, a, NULL);
  *out = (IndexSpec){.start = i < 0 ? i + n : i, .step = 1, .count = 1, .drop = true};
  return true;
}

/* x[a:n] of as many elements as an extent says that is known at run time: a is 0. False: it is no
   such slice; *ok is false after an error. */
static bool bounded_slice(Elab *e, const Index *ix, const Axis *a, IndexSpec *out, bool *ok) {
  if (a->number < 0 || ix->kind != INDEX_SLICE || !ix->stop || ix->step) return false;
  Val stop = elab_eval_one(e, ix->stop);
  if (stop.kind != VAL_EXTENT || !stop.extent.axis) return false;
  const Extent *x = axis_extent(e->c, stop.extent.axis);
  int64_t start = 0, n = x->bound * axis_multiple(stop.extent.axis);
  *ok = !ix->start || bound(e, ix->start, &start);
  if (*ok && (start || n > a->n)) {
    elab_fail(e, ix->loc, "a slice that ends at %s begins at 0 of at least %lld elements",
              axis_str(e->c, stop.extent.axis), (long long)n);
    *ok = false;
  }
  *out = (IndexSpec){.axis = stop.extent.axis, .step = 1, .count = n};
  return true;
}

/* 0 or a multiple of the extent; what is omitted stays. */
static bool multiple_of(Elab *e, const Expr *x, const Extent *extent, int64_t *out) {
  if (!x) return true;
  Val v = elab_eval_one(e, x);
  if (v.kind == VAL_INT && v.i == 0) return *out = 0, true;
  if (v.kind != VAL_EXTENT || axis_extent(e->c, v.extent.axis) != extent) return false;
  *out = axis_multiple(v.extent.axis);
  return true;
}

/* x[a:b] along a bounded axis, where a and b are multiples of its extent, and x[::-1]: base becomes
   that part. False: it is no such index. */
static bool bounded_part(Elab *e, const Index *ix, int axis, Val *base) {
  const Type *t = base->tensor.type;
  const Extent *x = type_extent(t, axis);
  if (!x || ix->kind != INDEX_SLICE || !(ix->start || ix->stop || ix->step)) return false;
  int64_t step = 1, from = 0, all = t->dim[axis] / x->bound, to = all;
  if (ix->step && !bound(e, ix->step, &step)) return false;
  bool turned = step == -1 && !ix->start && !ix->stop;
  if (!turned && (step != 1 || !multiple_of(e, ix->start, x, &from) ||
                  !multiple_of(e, ix->stop, x, &to) || from >= to || to > all))
    return false;
  Builder *b = elab_at(e, ix->loc);
  ValueId v = base->tensor.id;
  if (turned || from || to < all)
    v = turned ? build_reversed(b, v, axis)
               : build_part_of(b, v, axis, from, axis_of_extent(x, to - from));
  Loc loc = base->loc;
  *base = val_tensor(e, v);
  base->loc = loc;
  return true;
}

/* A bound of a slice along a bounded axis: so many elements behind its begin, or in front of its
   end. */
typedef struct Edge {
  bool from_end;
  int64_t at;
} Edge;

static bool edge_of(Elab *e, const Expr *x, int64_t axis, int64_t all, Edge *edge) {
  if (!x) return true;
  Val v = elab_eval_one(e, x);
  if (v.kind == VAL_INT && v.i > -INT32_MAX && v.i < INT32_MAX) {
    *edge = (Edge){v.i < 0, v.i < 0 ? -v.i : v.i};
    return true;
  }
  if (v.kind != VAL_EXTENT || !v.extent.axis) return false;
  int64_t less = all - axis_multiple(v.extent.axis) * axis_extent(e->c, v.extent.axis)->bound;
  *edge = (Edge){true, less};
  return less >= 0 && axis_and_more(e->c, axis, -less) == v.extent.axis;
}

/* x[a:-b] along a bounded axis: all but the first a and the last b; and x[a:b] of elements that
   every run has. few: of the former, how many a run has at most, if those are too few for a dim. */
static bool bounded_rest(Elab *e, const Index *ix, const Axis *a, IndexSpec *out, int64_t *few) {
  int64_t axis = type_axis(a->of.tensor.type, a->number), step = 1;
  Edge start = {false, 0}, stop = {true, 0};
  if (ix->step && !bound(e, ix->step, &step)) return false;
  if (step != 1 || !edge_of(e, ix->start, axis, a->n, &start) ||
      !edge_of(e, ix->stop, axis, a->n, &stop) || start.from_end)
    return false;
  *out = (IndexSpec){.start = start.at, .step = 1, .count = stop.at - start.at};
  if (!stop.from_end) return out->count > 0 && !axis_may_lack(e->c, axis, stop.at);
  out->axis = axis_and_more(e->c, axis, -start.at - stop.at);
  out->count = a->n - start.at - stop.at;
  if (out->count < 2) *few = out->count < 0 ? 0 : out->count;
  return out->axis != 0;
}

/* What a bounded axis of the length k * n gives, and of n with a slice that ends at n / k. */
static void bounded_hint(Elab *e, const Index *ix, const Axis *a) {
  const Expr *edge = ix->kind != INDEX_SLICE ? NULL : ix->stop ? ix->stop : ix->start;
  const bool part = edge && edge->kind == EX_BINARY && edge->binary.left->kind == EX_NAME &&
                    (edge->binary.op == BIN_DIV || edge->binary.op == BIN_QUOTIENT);
  if (!part) {
    elab_hint(e, "it takes x[0], x[-1], x[1:], x[1:-2], x[::-1], and of [2 * n] x[:n] and x[n:]; "
                 "gather(x, ids) takes others");
    return;
  }
  const char *by = source_slice(e, edge->binary.right->loc);
  elab_hint(e,
            "parts have whole extents: declare the axis as a multiple of one, [%s * m] with m <= "
            "BOUND in a dim before it, and take [:m]",
            by);
}

static bool axis_spec(Elab *e, const Index *ix, const Axis *a, IndexSpec *out) {
  bool bounded = a->number >= 0 && type_extent(a->of.tensor.type, a->number), ok = true;
  if (!bounded && bounded_slice(e, ix, a, out, &ok)) return ok;
  Val at = {0};
  int64_t few = -1;
  if (ix->kind != INDEX_SLICE) at = elab_eval_one(e, ix->at);
  if (bounded && ix->kind == INDEX_SLICE && bounded_rest(e, ix, a, out, &few)) return true;
  if (few >= 0) {
    elab_error(e, ix->loc,
               "this slice leaves %s of %s, which is at most %lld: a dim has two at its bound",
               few ? "one element at most" : "nothing",
               axis_str(e->c, type_axis(a->of.tensor.type, a->number)), (long long)a->n);
    elab_hint(e, "declare a larger bound");
    return elab_trace(e), false;
  }
  if (bounded && at.kind == VAL_INT && at.i >= 0 && at.i < a->n &&
      !axis_may_lack(e->c, type_axis(a->of.tensor.type, a->number), at.i + 1)) {
    *out = (IndexSpec){.start = at.i, .step = 1, .count = 1, .drop = true}; /* always there */
    return true;
  }
  if (bounded && at.kind == VAL_INT && at.i == -1)
    at = extent_binary(e, BIN_SUB, val_dim(type_axis(a->of.tensor.type, a->number), ix->loc),
                       val_int(1, ix->loc), ix->loc);
  if (at.kind == VAL_EXTENT) at = val_to_tensor(e, at, "an index", ix->loc);
  if (bounded && (ix->kind == INDEX_SLICE ? ix->start || ix->stop || ix->step
                                          : at.kind != VAL_TENSOR && at.kind != VAL_ERROR)) {
    elab_error(e, ix->loc, "an index needs a static extent along %s", axis_text(e, a));
    bounded_hint(e, ix, a);
    return elab_trace(e), false;
  }
  if (ix->kind == INDEX_SLICE) return slice_spec(e, ix, a, out);
  return index_spec(e, ix, at, a, out);
}

static Val index_list(Elab *e, const Expr *x, Val base) {
  IndexSpec c;
  if (x->index.n != 1 || x->index.at[0].kind == INDEX_ELLIPSIS)
    return elab_fail(e, x->loc, "a list has one axis");
  if (!axis_spec(e, &x->index.at[0], &(Axis){base, -1, base.list->n}, &c)) return error_value;
  if (c.dynamic) return elab_fail(e, x->index.at[0].loc, "a list is indexed at compile time");
  if (c.drop) return base.list->at[c.start];
  Val *item = ARENA_ARRAY(e->a, Val, c.count + 1);
  for (int64_t i = 0; i < c.count; i++) item[i] = base.list->at[c.start + i * c.step];
  return val_list(e, VAL_LIST, item, (int)c.count, x->loc);
}

static Val apply_static(Elab *e, Val base, const IndexSpec *spec, Loc loc) {
  const Type *t = base.tensor.type;
  int rank = t->rank, kept = 0, flips = 0;
  int64_t *start = ARENA_ARRAY(e->a, int64_t, rank + 1),
          *step = ARENA_ARRAY(e->a, int64_t, rank + 1);
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, rank + 1), *left = ARENA_ARRAY(e->a, int64_t, rank + 1);
  int64_t *flip = ARENA_ARRAY(e->a, int64_t, rank + 1);
  bool whole = true;
  for (int i = 0; i < rank; i++) {
    const IndexSpec *c = &spec[i];
    bool back = c->step < 0;
    start[i] = back ? c->start + (c->count - 1) * c->step : c->start;
    step[i] = back ? -c->step : c->step;
    dim[i] = c->axis ? c->axis : c->count == t->dim[i] ? type_axis(t, i) : c->count;
    whole &= dim[i] == type_axis(t, i);
    if (back && c->count > 1) flip[flips++] = i;
    if (!c->drop) left[kept++] = dim[i];
  }
  Val y = base;
  Builder *b = elab_at(e, loc);
  if (!whole) {
    Attr attr[MAX_ATTRS] = {[AT_STARTS] = {.ints = intern_ints(e->c, start, rank)},
                            [AT_STEPS] = {.ints = intern_ints(e->c, step, rank)}};
    y = build_checked(e, OP_SLICE, &y, 1, attr, type_get(e->c, t->dtype, rank, dim), "this slice",
                      loc);
  }
  if (y.kind == VAL_TENSOR && flips) {
    Attr attr[MAX_ATTRS] = {[AT_AXES] = {.ints = intern_ints(e->c, flip, flips)}};
    y = build_checked(e, OP_REVERSE, &y, 1, attr, NULL, "this slice", loc);
  }
  if (y.kind == VAL_TENSOR && kept < rank)
    y = val_tensor(e, build_reshape(b, y.tensor.id, type_get(e->c, t->dtype, kept, left)));
  return y;
}

/* x[…, id, …] by one gather: with the axes before it as batch axes or, in a scan, with the axis
   moved to the front; the pass hoist decides whether gradients need it there. */
static Val gather_at(Elab *e, Val x, int axis, Val id, Loc loc) {
  const Type *t = x.tensor.type;
  Val in[2] = {x, id};
  Attr attr[MAX_ATTRS] = {0};
  Builder *b = elab_at(e, loc);
  if (axis && !e->run->scan) {
    int64_t *lead = ARENA_ARRAY(e->a, int64_t, t->rank);
    const Type *ids = type_get(e->c, id.tensor.type->dtype, axis, type_axes(t, lead));
    in[1] = val_tensor(e, build_broadcast(b, id.tensor.id, ids));
    attr[AT_BATCH].i = axis;
  } else if (axis) {
    int64_t *perm = ARENA_ARRAY(e->a, int64_t, t->rank);
    perm[0] = axis;
    for (int k = 0, to = 1; k < t->rank; k++)
      if (k != axis) perm[to++] = k;
    in[0] = val_tensor(e, build_transpose(b, x.tensor.id, perm));
  }
  return build_checked(e, OP_GATHER, in, 2, attr, NULL, "this index", loc);
}

/* Applies the run-time indices, the first axis first. */
static Val apply_dynamic(Elab *e, Val y, const IndexSpec *spec, int rank, Loc loc) {
  int axis = 0;
  for (int i = 0; i < rank && y.kind == VAL_TENSOR; i++) {
    if (!spec[i].dynamic) {
      axis += !spec[i].drop;
      continue;
    }
    y = gather_at(e, y, axis, spec[i].index, loc);
  }
  return y;
}

/* x[:, none] */
static bool is_new_axis(Elab *e, const Index *ix) {
  return ix->kind == INDEX_AT && ix->at->kind == EX_NAME && strcmp(ix->at->name, "none") == 0 &&
         elab_eval_one(e, ix->at).kind == VAL_NONE;
}

/* y with axes of extent 1 before those of the numbers at[0], at[1] …, which do not descend. */
static Val add_axes(Elab *e, Val y, const int *at, int n, Loc loc) {
  if (y.kind != VAL_TENSOR || n == 0) return y;
  const Type *t = y.tensor.type;
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, t->rank + n);
  int rank = 0;
  for (int axis = 0, k = 0; axis <= t->rank; axis++) {
    for (; k < n && at[k] == axis; k++) dim[rank++] = 1;
    if (axis < t->rank) dim[rank++] = type_axis(t, axis);
  }
  return val_tensor(
      e, build_reshape(elab_at(e, loc), y.tensor.id, type_get(e->c, t->dtype, rank, dim)));
}

Val expr_index(Elab *e, const Expr *x) {
  Val base = elab_eval(e, x->index.base);
  if (base.kind == VAL_ERROR) return base;
  if (base.kind == VAL_LIST || base.kind == VAL_TUPLE) return index_list(e, x, base);
  if (base.kind == VAL_TREE) return tree_index(e, base, x);
  if (base.kind != VAL_TENSOR)
    return elab_fail(e, x->index.base->loc, "%s has no axes to index", val_str(e, base));
  const Type *t = base.tensor.type;
  int n = x->index.n, dots = 0, added = 0, kept = 0;
  int *new_axis = ARENA_ARRAY(e->a, int, n + 1);
  for (int i = 0; i < n; i++) dots += x->index.at[i].kind == INDEX_ELLIPSIS;
  for (int i = 0; i < n; i++) added += is_new_axis(e, &x->index.at[i]);
  n -= added;
  added = 0;
  if (dots > 1) return elab_fail(e, x->loc, "'...' may stand only once in an index");
  if (n - dots > t->rank) {
    elab_error(e, x->loc, "%d indices for the %d axes of %s", n - dots, t->rank, val_str(e, base));
    elab_note_tensor(e, "it", base);
    return elab_trace(e);
  }
  IndexSpec *spec = ARENA_ARRAY(e->a, IndexSpec, t->rank + 1);
  int axis = 0;
  bool ok = true;
  for (int i = 0; i < x->index.n; i++) {
    const Index *ix = &x->index.at[i];
    if (is_new_axis(e, ix)) {
      new_axis[added++] = kept;
      continue;
    }
    if (ix->kind == INDEX_ELLIPSIS) {
      for (int k = 0; k < t->rank - (n - 1); k++, axis++, kept++)
        spec[axis] = (IndexSpec){.step = 1, .count = t->dim[axis]};
      continue;
    }
    if (bounded_part(e, ix, axis, &base)) {
      t = base.tensor.type;
      spec[axis] = (IndexSpec){.step = 1, .count = t->dim[axis]};
    } else {
      ok &= axis_spec(e, ix, &(Axis){base, axis, t->dim[axis]}, &spec[axis]);
    }
    kept += !spec[axis].drop && !spec[axis].dynamic;
    axis++;
  }
  for (; axis < t->rank; axis++) spec[axis] = (IndexSpec){.step = 1, .count = t->dim[axis]};
  if (!ok) return error_value;
  Val y = apply_dynamic(e, apply_static(e, base, spec, x->loc), spec, t->rank, x->loc);
  return add_axes(e, y, new_axis, added, x->loc);
}
