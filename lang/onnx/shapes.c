/* Operators that change shapes: reshape, cut, join, move axes.
   Contract: what is known when gc compiles stays known. */
#include "lang/onnx/graph.h"

/* The shape does not hold the input's elements, or not in axes that the language has. */
static bool refuse_shape(Node *n) {
  const Shape *from = &input(n, 0)->shape;
  const Axis *first = NULL;
  for (int i = 0; i < from->rank; i++) {
    const Axis *d = &from->at[i];
    if (!d->symbol) continue;
    if (first && first->symbol != d->symbol)
      return refuse(
          n, "bounded dimensions in one axis, %s and %s: one of them needs a number, -D %s=N",
          dim_text(n->im, *first), dim_text(n->im, *d), n->im->symbols[first->symbol - 1].wish);
    first = d;
  }
  return refuse(n, "a shape of another number of elements");
}

/* Output 0 is input 0 in another shape of as many elements. */
static bool give_reshaped(Node *n, const Shape *s) {
  Tensor *v = input(n, 0);
  Axis each;
  if (!shape_over(n->im, &v->shape, s, &each) || !dim_same(each, (Axis){.n = 1}))
    return refuse_shape(n);
  if (!v->name && !v->trained && known_of(n->im, v)) {
    uint64_t count;
    if (shape_count(s, &count) && count <= MOST_KNOWN)
      return give_known(n, 0, v->type, s, v->known);
  }
  if (shape_same(&v->shape, s)) return give_same(n, 0, v);
  return give(n, 0, v->type, s, reshaped(n, tensor_text(n, v), s));
}

bool onnx_constant(Node *n) {
  const Onnx__AttributeProto *a = n->p->n_attribute ? n->p->attribute[0] : NULL;
  Tensor *v = output(n, 0);
  const char *why = NULL, *name = a && a->name ? a->name : "";
  if (!v) return true;
  if (strcmp(name, "value") == 0 && a->t) {
    if (!tensor_type(n->im, a->t, &v->type, &v->shape, &why) || !tensor_check(n->im, a->t, &why))
      return refuse(n, "%s", why);
    v->tensor = a->t;
    return true;
  }
  bool ints = strncmp(name, "value_int", 9) == 0, list = name[0] && name[strlen(name) - 1] == 's';
  if (!ints && strncmp(name, "value_float", 11) != 0)
    return refuse(n, "a constant that is no tensor of numbers");
  size_t count = !list ? 1 : ints ? a->n_ints : a->n_floats;
  if (count > MOST_KNOWN) return refuse(n, "a list of more than 65536 numbers");
  Number *x = ARENA_ARRAY(n->im->a, Number, count + 1);
  for (size_t i = 0; i < count; i++)
    if (ints)
      x[i].i = list ? a->ints[i] : a->i;
    else
      x[i].f = (double)(list ? a->floats[i] : a->f);
  const Shape s = {.rank = list, .at = {{.n = (int64_t)count}}};
  return give_known(n, 0, ints ? ELEM_I64 : ELEM_F32, &s, x);
}

bool known_shape(Node *n, int in, Shape *s) {
  const Tensor *v = input(n, in);
  const Number *x = v && v->sizes ? v->sizes : known_input(n, in);
  if (!x) return false;
  if (v->shape.rank != 1 || v->shape.at[0].n > MOST_RANK || is_float(v))
    return refuse(n, "a shape that is no list of at most 16 integers");
  s->rank = (int)v->shape.at[0].n;
  for (int i = 0; i < s->rank; i++) s->at[i] = axis_of_number(x[i]);
  return true;
}

/* Axes whose elements the data count stay whole, behind as many elements. */
static bool counts_stay(Node *n, const Shape *from, Shape *to) {
  int64_t before = 1, place = 1;
  for (int i = 0, k = 0; i < from->rank; i++) {
    if (from->at[i].symbol) return refuse(n, "bounded dimensions beside rows that the data count");
    if (from->at[i].counted) {
      for (; k < to->rank && (place < before || to->at[k].n != from->at[i].n); k++)
        place *= to->at[k].n;
      if (k == to->rank || place != before)
        return refuse(n, "rows whose number the data decide in one axis with others");
      to->at[k].counted = from->at[i].counted;
    }
    before *= from->at[i].n;
  }
  return true;
}

bool onnx_reshape(Node *n) {
  const Shape *from = &input(n, 0)->shape;
  Shape s = {0};
  int64_t dims[2 * MOST_RANK];
  int count, open = -1;
  if (input(n, 1)) {
    if (!known_shape(n, 1, &s)) return false;
  } else if (attr_ints(n, "shape", dims, &count) && count <= MOST_RANK) {
    s = shape_of(count, dims);
  } else {
    return refuse(n, "no shape");
  }
  for (int i = 0; i < s.rank; i++) {
    if (s.at[i].n == 0 && !attr_int(n, "allowzero", 0)) {
      if (i >= from->rank) return refuse(n, "a dimension of an axis that is not there");
      s.at[i] = from->at[i];
    }
    if (s.at[i].n == -1 && !s.at[i].symbol) {
      if (open >= 0) return refuse(n, "two open dimensions");
      open = i;
      s.at[i] = (Axis){.n = 1};
    }
  }
  for (int i = 0; open >= 0 && i < s.rank; i++)
    if (!s.at[i].n) return refuse(n, "an open dimension beside one without elements");
  if (open >= 0 && !shape_over(n->im, from, &s, &s.at[open])) return refuse_shape(n);
  if (tensor_is_counted(input(n, 0)) && !counts_stay(n, from, &s)) return false;
  return give_reshaped(n, &s);
}

bool onnx_flatten(Node *n) {
  const Shape *from = &input(n, 0)->shape;
  Shape s = {.rank = 2};
  int64_t axis = attr_int(n, "axis", 1);
  if (axis < 0) axis += from->rank;
  if (axis < 0 || axis > from->rank) return refuse(n, "an axis that its input does not have");
  s.at[0] = s.at[1] = (Axis){.n = 1};
  for (int i = 0; i < from->rank; i++)
    if (!dim_join(n->im, s.at[i >= axis], from->at[i], &s.at[i >= axis])) return refuse_shape(n);
  return give_reshaped(n, &s);
}

bool onnx_squeeze(Node *n) {
  const Shape *from = &input(n, 0)->shape;
  int64_t axes[2 * MOST_RANK];
  int count, axis;
  bool gone[MOST_RANK] = {false};
  Shape s = {0};
  if (!known_ints(n, 1, "axes", axes, MOST_RANK, &count)) return false;
  for (int i = 0; i < count; i++) {
    if (!axis_from(n, axes[i], from->rank, &axis)) return false;
    gone[axis] = true;
  }
  for (int i = 0; i < from->rank; i++)
    if (!(count < 0 ? dim_same(from->at[i], (Axis){.n = 1}) : gone[i]))
      s.at[s.rank++] = from->at[i];
    else if (from->at[i].counted)
      return refuse(n, "an axis that may have no element");
  return give_reshaped(n, &s);
}

bool onnx_unsqueeze(Node *n) {
  const Shape *from = &input(n, 0)->shape;
  int64_t axes[2 * MOST_RANK];
  int count, axis, next = 0;
  bool fresh[MOST_RANK] = {false};
  if (!known_ints(n, 1, "axes", axes, MOST_RANK, &count)) return false;
  Shape s = {.rank = from->rank + count};
  if (count < 0 || s.rank > MOST_RANK) return refuse(n, "no axes, or too many");
  for (int i = 0; i < count; i++) {
    if (!axis_from(n, axes[i], s.rank, &axis)) return false;
    if (fresh[axis]) return refuse(n, "an axis that is named twice");
    fresh[axis] = true;
  }
  for (int i = 0; i < s.rank; i++) s.at[i] = fresh[i] ? (Axis){.n = 1} : from->at[next++];
  return give_reshaped(n, &s);
}

bool onnx_expand(Node *n) {
  Tensor *v = input(n, 0);
  Shape want, s;
  if (!known_shape(n, 1, &want)) return false;
  if (!shapes_broadcast(&v->shape, &want, &s)) return refuse(n, "shapes that do not fit");
  if (shape_same(&s, &v->shape)) return give_same(n, 0, v);
  return give(n, 0, v->type, &s,
              text(n, "broadcast(%s, %s)", tensor_text(n, v), shape_text(n->im, &s)));
}

bool onnx_transpose(Node *n) {
  Tensor *v = input(n, 0);
  int64_t perm[2 * MOST_RANK];
  int count = v->shape.rank;
  bool seen[MOST_RANK] = {false};
  Shape s = {.rank = count};
  if (!attr_ints(n, "perm", perm, &count))
    for (int i = 0; i < count; i++) perm[i] = count - 1 - i;
  if (count != v->shape.rank) return refuse(n, "an order of other axes");
  for (int i = 0; i < count; i++) {
    if (perm[i] < 0 || perm[i] >= count || seen[perm[i]])
      return refuse(n, "an order of other axes");
    seen[perm[i]] = true;
    s.at[i] = v->shape.at[perm[i]];
  }
  return give(n, 0, v->type, &s,
              text(n, "transpose(%s, %s)", tensor_text(n, v), ints_text(n, perm, count)));
}

bool onnx_concat(Node *n) {
  Tensor *v = input(n, 0);
  int axis;
  bool counted = false;
  Shape s = v->shape;
  const char *t = "";
  int parts = 0; /* that have elements */
  if (!axis_from(n, attr_int(n, "axis", 1), s.rank, &axis)) return false;
  s.at[axis] = (Axis){.n = 0};
  for (int i = 0; i < n->nin; i++) {
    Tensor *x = input(n, i);
    if (!x || x->shape.rank != s.rank) return refuse(n, "shapes that do not fit");
    for (int k = 0; k < s.rank; k++)
      if (k != axis && x->shape.at[k].counted != s.at[k].counted)
        return refuse(n, "rows whose number the data decide beside others");
      else
        counted |= k == axis && x->shape.at[k].counted;
    if (!x->shape.at[axis].n) continue;
    if (!dim_add(s.at[axis], x->shape.at[axis], 1, &s.at[axis]))
      return refuse(n, "a sum of several bounded dimensions");
    t = text(n, "%s%s%s", t, parts++ ? ", " : "", tensor_text(n, x)), v = x;
  }
  if (parts < 2) return give_same(n, 0, v);
  if (counted) return concat_counted(n, axis);
  return give(n, 0, v->type, &s, text(n, "concat([%s], axis = %d)", t, axis));
}

bool onnx_split(Node *n) {
  Tensor *v = input(n, 0);
  int axis, count;
  int64_t *size = ARENA_ARRAY(n->im->a, int64_t, n->p->n_output + 2 * MOST_RANK), d;
  int outputs = (int)n->p->n_output;
  if (!axis_from(n, attr_int(n, "axis", 0), v->shape.rank, &axis) ||
      !dim_number(n, v->shape.at[axis], &d) || !known_ints(n, 1, "split", size, outputs, &count))
    return false;
  if (v->shape.at[axis].counted) return refuse(n, "rows whose number the data decide, in parts");
  if (count < 0) {
    int64_t each = (d + outputs - 1) / outputs, left = d;
    count = outputs;
    for (int i = 0; i < count; i++, left -= each) size[i] = left < each ? left : each;
  }
  int64_t at = 0;
  if (count != outputs) return refuse(n, "another number of parts than outputs");
  const Number *known =
      v->trained || v->name || d > MOST_KNOWN || v->shape.rank != 1 ? NULL : known_of(n->im, v);
  for (int i = 0; i < count; i++) {
    if (size[i] < 0 || size[i] > d - at) return refuse(n, "parts that its input does not have");
    const char *before = "";
    Shape s = v->shape;
    s.at[axis].n = size[i];
    for (int k = 0; k < axis; k++) before = text(n, "%s:, ", before);
    const bool done = !output(n, i) ? true
                      : known && s.rank == 1
                          ? give_known(n, i, v->type, &s, known + at)
                          : give(n, i, v->type, &s,
                                 text(n, "%s[%s%lld:%lld]", size[i] ? tensor_text(n, v) : "",
                                      before, (long long)at, (long long)(at + size[i])));
    if (!done) return false;
    at += size[i];
  }
  return true;
}

/* As Python's slice.indices. */
static int64_t limited(int64_t x, int64_t d, bool down) {
  if (x < 0) x = x < -d ? (down ? -1 : 0) : x + d;
  int64_t last = down ? d - 1 : d;
  return x > last ? last : x;
}

/* Elements [from, to) of an axis, at least one of which is bounded: *size of them. The part of an
   index; or ":" of elements that begin at a number known at run time, *start; or "" of those at the
   places *start. NULL after refusing. */
static const char *bounded_part(Node *n, Axis d, Axis from, Axis to, Axis *size,
                                const char **start) {
  Import *im = n->im;
  const Axis zero = {.n = 0}, one = {.n = 1};
  Axis cut = zero, back = zero; /* elements behind the part, and those from its first on */
  bool known = true;
  if (!to.symbol && to.n >= INT32_MAX) to = d;
  if (!from.symbol && from.n < 0) known = dim_add(d, from, 1, &from);
  if (!to.symbol && to.n < 0) known &= dim_add(d, to, 1, &to);
  if (known && !dim_at_least(im, d, to)) known = dim_at_least(im, to, d), to = d;
  known = known && dim_at_least(im, from, zero) && dim_add(to, from, -1, size);
  if (d.symbol) known = known && dim_add(d, to, -1, &cut) && dim_add(d, from, -1, &back);
  const char *what = "a part of a bounded dimension that is not counted from its ends";
  if (!known) return refuse(n, "%s", what), NULL;
  *start = NULL;
  if (!from.symbol && !cut.symbol && d.symbol) /* all but some at the ends */
    return cut.n ? text(n, "%lld:-%lld", (long long)from.n, (long long)cut.n)
                 : text(n, "%lld:", (long long)from.n);
  if (!from.symbol && !from.n && !d.symbol) return text(n, ":%s", dim_text(im, to));
  if (dim_same(*size, one) && d.symbol && (dim_same(back, one) || dim_same(from, zero)))
    return dim_same(back, one) ? "-1:" : "0:1"; /* a row, see onnx_slice */
  if (!dim_at_least(im, *size, one)) return refuse(n, "%s", what), NULL;
  *start = text(n, "(%s)", dim_text(im, from));
  if (!size->symbol && !d.symbol) return ":";
  *start = text(n, "iota(%s) + %s", dim_text(im, *size), *start);
  return "";
}

/* Cuts one bounded axis of *t, whose shape *s is. */
static bool bounded_slice(Node *n, int axis, Axis from, Axis to, const char **t, Shape *s) {
  const char *start, *before = "";
  Axis d = s->at[axis];
  const char *part = bounded_part(n, d, from, to, &s->at[axis], &start);
  if (!part) return false;
  for (int i = 0; i < axis; i++) before = text(n, "%s:, ", before);
  const bool row = d.symbol && dim_same(s->at[axis], (Axis){.n = 1}) && *part != ':';
  if (!*part)
    *t = gathered(n, *t, s->rank, axis, start, 1);
  else if (start)
    *t = text(n, "dynamic_slice(%s, %s, %lld, axis = %d)", *t, start, (long long)s->at[axis].n,
              axis);
  else if (row)
    *t = reshaped(n, text(n, "%s[%s%d]", *t, before, *part == '-' ? -1 : 0), s);
  else
    *t = text(n, "%s[%s%s]", *t, before, part);
  return true;
}

typedef struct Slicing {
  Tensor *v;
  Shape s; /* of the result */
  int64_t start[MOST_RANK], step[MOST_RANK];
  const char *part[MOST_RANK]; /* of the index */
  bool changes;
  const char *bounded; /* what is cut along bounded axes, or NULL … */
  Shape cut;           /* … and its shape: the other axes are cut behind it */
} Slicing;

static bool static_slice(Node *n, Slicing *c, int axis, Axis first, Axis last, int64_t by) {
  int64_t d, from, to;
  if (!dim_number(n, c->v->shape.at[axis], &d) || !dim_number(n, first, &from) ||
      !dim_number(n, last, &to))
    return false;
  if (!by) return refuse(n, "a step of 0");
  if (by < -d) by = -d - 1;
  if (by > d) by = d + 1;
  const int64_t a = limited(from, d, by < 0), b = limited(to, d, by < 0);
  const int64_t size = by > 0 ? (b - a + by - 1) / by : (b - a + by + 1) / by;
  c->s.at[axis].n = size < 0 ? 0 : size;
  c->start[axis] = a, c->step[axis] = by;
  c->part[axis] = by == 1 ? text(n, "%lld:%lld", (long long)a, (long long)b)
                  : b < 0 ? text(n, "%lld::%lld", (long long)a, (long long)by)
                          : text(n, "%lld:%lld:%lld", (long long)a, (long long)b, (long long)by);
  c->changes = true;
  return true;
}

static bool slice_axis(Node *n, Slicing *c, int axis, Axis first, Axis last, int64_t by) {
  const bool from_0 = !first.symbol && first.n == 0;
  if (by == 1 && from_0 && !last.symbol && last.n >= INT32_MAX)
    return true; /* the whole axis, bounded or not */
  const Axis all = c->v->shape.at[axis];
  if (all.counted && (by != 1 || !from_0 || last.symbol || last.n < 1))
    return refuse(n, "rows whose number the data decide, but for the first of them");
  if (all.counted && last.n >= all.n) return true;
  if (all.counted)
    c->s.at[axis].counted =
        count_new(n, text(n, "min(%s, %lld)", rows_text(n->im, all), (long long)last.n));
  if (by != 1 || !(first.symbol || last.symbol || all.symbol))
    return static_slice(n, c, axis, first, last, by);
  if (!c->bounded) c->bounded = tensor_text(n, c->v);
  if (!bounded_slice(n, axis, first, last, &c->bounded, &c->cut)) return false;
  c->s.at[axis] = c->cut.at[axis];
  return true;
}

/* Numbers that are known become fewer of them. */
static bool known_slice(Node *n, const Slicing *c) {
  Tensor *v = c->v;
  uint64_t all;
  if (c->bounded || v->name || v->trained || !shape_count(&v->shape, &all) || all > MOST_KNOWN ||
      !known_of(n->im, v))
    return false;
  int64_t stride[MOST_RANK], at = 0;
  strides_of(&v->shape, stride);
  for (int i = 0; i < c->s.rank; i++) at += c->start[i] * stride[i], stride[i] *= c->step[i];
  return fold_strided(n, &c->s, stride, at);
}

bool onnx_slice(Node *n) {
  Tensor *v = input(n, 0);
  Axis first[MOST_RANK], last[MOST_RANK];
  int64_t axes[2 * MOST_RANK], steps[2 * MOST_RANK];
  int count, ends, naxes, nsteps, axis;
  bool old = n->version < 10;
  if (!known_dims(n, 1, old ? "starts" : NULL, first, &count) ||
      !known_dims(n, 2, old ? "ends" : NULL, last, &ends) ||
      !known_ints(n, 3, old ? "axes" : NULL, axes, MOST_RANK, &naxes) ||
      !known_ints(n, 4, NULL, steps, MOST_RANK, &nsteps))
    return false;
  Slicing c = {.v = v, .s = v->shape, .cut = v->shape};
  if (count < 0 || count != ends || (naxes >= 0 && naxes != count) ||
      (nsteps >= 0 && nsteps != count) || (naxes < 0 && count > c.s.rank))
    return refuse(n, "lists of different lengths");
  for (int i = 0; i < c.s.rank; i++) c.part[i] = ":", c.step[i] = 1;
  for (int i = 0; i < count; i++)
    if (!axis_from(n, naxes < 0 ? i : axes[i], c.s.rank, &axis) ||
        !slice_axis(n, &c, axis, first[i], last[i], nsteps < 0 ? 1 : steps[i]))
      return false;
  if (!c.changes) return c.bounded ? give(n, 0, v->type, &c.s, c.bounded) : give_same(n, 0, v);
  if (known_slice(n, &c)) return true;
  const char *t = c.part[0];
  for (int i = 1; i < c.s.rank; i++) t = text(n, "%s, %s", t, c.part[i]);
  return give(n, 0, v->type, &c.s, text(n, "%s[%s]", c.bounded ? c.bounded : tensor_text(n, v), t));
}
