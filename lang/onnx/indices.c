/* Operators that look up, sort and write by index. Contract: negative indices count from the end.
 */
#include "lang/onnx/graph.h"

/* Indices from 0 on, as gc takes them. */
static const char *positive(Node *n, Tensor *ids, int64_t size) {
  uint64_t count;
  const Number *x =
      shape_count(&ids->shape, &count) && count <= MOST_KNOWN ? known_of(n->im, ids) : NULL;
  bool negative = !x;
  for (uint64_t i = 0; x && i < count; i++) negative |= x[i].i < 0;
  const char *t = tensor_text(n, ids);
  return negative ? text(n, "where(%s < 0, %s + %lld, %s)", t, t, (long long)size, t) : t;
}

bool onnx_gather(Node *n) {
  Tensor *v = input(n, 0), *ids = input(n, 1);
  int axis, rank = v->shape.rank, more = ids->shape.rank;
  int64_t size;
  if (!axis_from(n, attr_int(n, "axis", 0), rank, &axis) ||
      !dim_number(n, v->shape.at[axis], &size))
    return false;
  Shape s = {.rank = rank - 1 + more};
  if (s.rank > MOST_RANK) return refuse(n, "more than 16 axes");
  for (int i = 0; i < s.rank; i++)
    s.at[i] = i < axis          ? v->shape.at[i]
              : i < axis + more ? ids->shape.at[i - axis]
                                : v->shape.at[i - more + 1];
  Number one;
  if (!more && is_one_number(n->im, ids, &one) && !one.symbol) { /* a row that is known */
    const char *before = "";
    for (int i = 0; i < axis; i++) before = text(n, "%s:, ", before);
    if (one.i < -size || one.i >= size) return refuse(n, "an index that is out of range");
    return give(n, 0, v->type, &s,
                text(n, "%s[%s%lld]", tensor_text(n, v), before, (long long)one.i));
  }
  const char *at = positive(n, ids, size), *t = tensor_text(n, v);
  if (axis == 0) return give(n, 0, v->type, &s, text(n, "gather(%s, %s)", t, at));
  int64_t front[MOST_RANK], back[MOST_RANK];
  for (int i = 0; i < rank; i++) front[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
  /* the axes of ids come first, then the others */
  for (int i = 0; i < s.rank; i++) back[i] = i < axis ? more + i : i < axis + more ? i - axis : i;
  t = text(n, "transpose(gather(transpose(%s, %s), %s), %s)", t, ints_text(n, front, rank), at,
           ints_text(n, back, s.rank));
  return give(n, 0, v->type, &s, t);
}
