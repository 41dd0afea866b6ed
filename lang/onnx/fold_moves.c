/* Known numbers in other places: joined, cut, in another order, looked up, repeated, in a row.
   Contract: all inputs of the node are known; false: it is left to be translated. */
#include "lang/onnx/graph.h"

#include <math.h>

bool fold_concat(Node *n) {
  int axis;
  Shape s = input(n, 0)->shape;
  if (!axis_from(n, attr_int(n, "axis", 0), s.rank, &axis)) return false;
  uint64_t inner = 1, outer = 1, count, total = 0;
  for (int i = 0; i < s.rank; i++)
    *(i < axis ? &outer : &inner) *= i == axis ? 1 : (uint64_t)s.at[i].n;
  for (int k = 0; k < n->nin; k++) {
    const Tensor *v = input(n, k);
    if (!v || v->shape.rank != s.rank || !shape_count(&v->shape, &count)) return false;
    for (int i = 0; i < s.rank; i++)
      if (i != axis && v->shape.at[i].n != s.at[i].n) return false;
    total += (uint64_t)v->shape.at[axis].n;
  }
  s.at[axis].n = (int64_t)total;
  if (!shape_count(&s, &count) || count > MOST_KNOWN) return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, count + 1), *to = x;
  for (uint64_t o = 0; o < outer; o++)
    for (int k = 0; k < n->nin; k++) {
      uint64_t part = (uint64_t)input(n, k)->shape.at[axis].n * inner;
      memcpy(to, input(n, k)->known + o * part, part * sizeof *x);
      to += part;
    }
  return give_known(n, 0, input(n, 0)->type, &s, x);
}

/* Element k of an output of shape s, as strides and a start in the input say. */
bool fold_strided(Node *n, const Shape *s, const int64_t *stride, int64_t start) {
  uint64_t count;
  if (!shape_count(s, &count) || count > MOST_KNOWN) return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, count + 1);
  for (uint64_t k = 0; k < count; k++) {
    int64_t at = start;
    uint64_t rest = k;
    for (int i = s->rank - 1; i >= 0; i--) {
      at += (int64_t)(rest % (uint64_t)s->at[i].n) * stride[i];
      rest /= (uint64_t)s->at[i].n;
    }
    x[k] = input(n, 0)->known[at];
  }
  return give_known(n, 0, input(n, 0)->type, s, x);
}

void strides_of(const Shape *s, int64_t *stride) {
  int64_t at = 1;
  for (int i = s->rank - 1; i >= 0; i--) stride[i] = at, at *= s->at[i].n;
}

bool fold_transpose(Node *n) {
  const Shape *s = &input(n, 0)->shape;
  int64_t perm[2 * MOST_RANK], stride[MOST_RANK], moved[MOST_RANK];
  int count;
  Shape out = {.rank = s->rank};
  if (!attr_ints(n, "perm", perm, &count)) {
    count = s->rank;
    for (int i = 0; i < count; i++) perm[i] = count - 1 - i;
  }
  if (count != s->rank) return false;
  strides_of(s, stride);
  for (int i = 0; i < count; i++) {
    if (perm[i] < 0 || perm[i] >= count) return false;
    out.at[i] = s->at[perm[i]];
    moved[i] = stride[perm[i]];
  }
  return fold_strided(n, &out, moved, 0);
}

bool fold_expand(Node *n) {
  if (!input(n, 1)) return false;
  const Shape *s = &input(n, 0)->shape;
  const Number *to = input(n, 1)->known;
  Shape want = {.rank = (int)input(n, 1)->shape.at[0].n}, out;
  int64_t stride[MOST_RANK], moved[MOST_RANK] = {0};
  if (want.rank > MOST_RANK || input(n, 1)->shape.rank != 1) return false;
  for (int i = 0; i < want.rank; i++) want.at[i] = axis_of_number(to[i]);
  if (!shapes_broadcast(s, &want, &out)) return false;
  strides_of(s, stride);
  for (int i = 0; i < s->rank; i++) moved[out.rank - s->rank + i] = s->at[i].n == 1 ? 0 : stride[i];
  return fold_strided(n, &out, moved, 0);
}

bool fold_gather(Node *n) {
  const Tensor *v = input(n, 0), *ids = input(n, 1);
  int axis;
  uint64_t count, each;
  if (!ids || !axis_from(n, attr_int(n, "axis", 0), v->shape.rank, &axis)) return false;
  Shape s = {.rank = v->shape.rank - 1 + ids->shape.rank};
  if (s.rank > MOST_RANK || !shape_count(&ids->shape, &each)) return false;
  uint64_t inner = 1, size = (uint64_t)v->shape.at[axis].n;
  for (int i = 0; i < s.rank; i++)
    s.at[i] = i < axis                     ? v->shape.at[i]
              : i < axis + ids->shape.rank ? ids->shape.at[i - axis]
                                           : v->shape.at[i - ids->shape.rank + 1];
  for (int i = axis + 1; i < v->shape.rank; i++) inner *= (uint64_t)v->shape.at[i].n;
  if (!shape_count(&s, &count) || count > MOST_KNOWN) return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, count + 1);
  for (uint64_t k = 0; k < count; k++) {
    Number id = ids->known[k / inner % each];
    int64_t at = id.i < 0 ? id.i + (int64_t)size : id.i;
    if (id.symbol || at < 0 || at >= (int64_t)size) return false;
    x[k] = v->known[(k / inner / each * size + (uint64_t)at) * inner + k % inner];
  }
  return give_known(n, 0, v->type, &s, x);
}

bool fold_nonzero(Node *n) {
  const Tensor *v = input(n, 0);
  uint64_t count, found = 0;
  if (!shape_count(&v->shape, &count)) return false;
  for (uint64_t i = 0; i < count; i++)
    found += is_float(v) ? v->known[i].f != 0 : v->known[i].i != 0;
  int rank = v->shape.rank ? v->shape.rank : 1;
  Number *x = ARENA_ARRAY(n->im->a, Number, (uint64_t)rank * found + 1);
  uint64_t k = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (is_float(v) ? v->known[i].f == 0 : v->known[i].i == 0) continue;
    uint64_t rest = i;
    for (int axis = v->shape.rank - 1; axis >= 0; axis--) {
      x[(uint64_t)axis * found + k].i = (int64_t)(rest % (uint64_t)v->shape.at[axis].n);
      rest /= (uint64_t)v->shape.at[axis].n;
    }
    k++;
  }
  const Shape s = {.rank = 2, .at = {{.n = rank}, {.n = (int64_t)found}}};
  return give_known(n, 0, ELEM_I64, &s, x);
}

bool fold_constant_of_shape(Node *n) {
  const Tensor *v = input(n, 0);
  const Onnx__AttributeProto *a = attr_of(n, "value");
  Shape s = {.rank = (int)v->shape.at[0].n};
  Number one = {0};
  int type = ELEM_F32;
  uint64_t count;
  Shape tensor;
  const char *why;
  if (v->shape.rank != 1 || s.rank > MOST_RANK) return false;
  if (a && a->t) {
    const Number *x = tensor_numbers(n->im, a->t, &why);
    if (!x || !tensor_type(n->im, a->t, &type, &tensor, &why)) return false;
    one = x[0];
  }
  for (int i = 0; i < s.rank; i++) s.at[i] = axis_of_number(v->known[i]);
  if (!shape_count(&s, &count) || count > MOST_KNOWN) return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, count + 1);
  for (uint64_t i = 0; i < count; i++) x[i] = one;
  return give_known(n, 0, type, &s, x);
}

static bool is_scalar(const Tensor *v) {
  uint64_t count;
  return v && shape_count(&v->shape, &count) && count == 1;
}

/* n, n + 1, …: so many. */
static bool fold_range_of_dims(Node *n, Number a, Number b, Number d) {
  Axis size, next = axis_of_number(a);
  const Axis one = {.n = 1};
  if (is_float(input(n, 0)) || d.i != 1 || d.symbol ||
      !dim_add(axis_of_number(b), next, -1, &size) || size.symbol || size.n < 0 ||
      size.n > MOST_KNOWN)
    return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, size.n + 1);
  for (int64_t i = 0; i < size.n; i++) {
    x[i] = number_of_axis(next);
    if (!dim_add(next, one, 1, &next)) return false;
  }
  return give_known(n, 0, input(n, 0)->type, &(Shape){.rank = 1, .at = {size}}, x);
}

bool fold_range(Node *n) {
  const Tensor *v = input(n, 0);
  for (int i = 0; i < 3; i++)
    if (!is_scalar(input(n, i))) return false;
  Number a = v->known[0], b = input(n, 1)->known[0], d = input(n, 2)->known[0];
  if (a.symbol || b.symbol || d.symbol) return fold_range_of_dims(n, a, b, d);
  double from = is_float(v) ? a.f : (double)a.i, to = is_float(v) ? b.f : (double)b.i,
         by = is_float(v) ? d.f : (double)d.i, size = by != 0 ? ceil((to - from) / by) : 0;
  if (!(size >= 0 && size <= MOST_KNOWN)) return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, (uint64_t)size + 1);
  for (int64_t i = 0; i < (int64_t)size; i++)
    x[i] = is_float(v) ? number_fit(v->type, (Number){.f = from + (double)i * by})
                       : (Number){.i = a.i + i * d.i};
  return give_known(n, 0, v->type, &(Shape){.rank = 1, .at = {{.n = (int64_t)size}}}, x);
}
