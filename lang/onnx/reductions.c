/* Reductions, cumulative sums, places of extremes. */
#include "lang/onnx/graph.h"

/* %x is the input, %a the arguments; `one` is what an element is without a reduction. */
static const struct {
  const char *op, *as, *one;
} reductions[] = {
    {"ReduceSum", "sum(%x%a)", "%x"},
    {"ReduceMean", "mean(%x%a)", "%x"},
    {"ReduceMax", "max(%x%a)", "%x"},
    {"ReduceMin", "min(%x%a)", "%x"},
    {"ReduceProd", "prod(%x%a)", "%x"},
    {"ReduceL1", "sum(abs(%x)%a)", "abs(%x)"},
    {"ReduceL2", "sqrt(sum(%x * %x%a))", "abs(%x)"},
    {"ReduceSumSquare", "sum(%x * %x%a)", "%x * %x"},
    {"ReduceLogSum", "log(sum(%x%a))", "log(%x)"},
    {"ReduceLogSumExp", "logsumexp(%x%a)", "%x"},
};

static const char *filled(Node *n, const char *as, const char *x, const char *a) {
  const char *t = "";
  for (const char *p = as; *p;) {
    size_t k = strcspn(p, "%");
    t = text(n, "%s%.*s%s", t, (int)k, p, !p[k] ? "" : p[k + 1] == 'x' ? x : a);
    p += k + (p[k] ? 2 : 0);
  }
  return t;
}

/* What changes a reduction by nothing. */
static const char *nothing_of(int row, int type) {
  const char *op = reductions[row].op;
  if (strcmp(op, "ReduceMax") == 0 || strcmp(op, "ReduceLogSumExp") == 0) return lowest_text(type);
  if (strcmp(op, "ReduceMin") == 0) return highest_text(type);
  return strcmp(op, "ReduceProd") == 0 ? "1" : "0";
}

/* A reduction along axes of which one has no elements. */
static bool give_nothing(Node *n, int row, const Shape *s) {
  const int type = input(n, 0)->type;
  if (row == 1) return refuse(n, "the mean of no elements");
  const char *t = strcmp(n->op, "ReduceLogSum") == 0 ? "-inf" : nothing_of(row, type);
  if (type == ELEM_BOOL) t = *t == '(' ? "false" : "true"; /* of the least element, the largest */
  return give(n, 0, type, s,
              text(n, "full(%s, %s, dtype = %s)", shape_text(n->im, s), t, elem_of(type)->gc));
}

bool onnx_reduce(Node *n) {
  Tensor *v = input(n, 0);
  int64_t axes[2 * MOST_RANK];
  int count, axis, row = 0;
  bool keep = attr_int(n, "keepdims", 1) != 0, gone[MOST_RANK] = {false};
  if (!known_ints(n, 1, "axes", axes, MOST_RANK, &count)) return false;
  while (strcmp(reductions[row].op, n->op) != 0) row++;
  const bool empty = is_empty(&v->shape);
  const char *x = empty ? "" : tensor_text(n, v);
  if (count <= 0 && attr_int(n, "noop_with_empty_axes", 0))
    return give(n, 0, v->type, &v->shape, filled(n, reductions[row].one, x, ""));
  if (count <= 0)
    for (count = 0; count < v->shape.rank; count++) axes[count] = count;
  for (int i = 0; i < count; i++) {
    if (!axis_from(n, axes[i], v->shape.rank, &axis)) return false;
    axes[i] = axis;
    gone[axis] = true;
  }
  Shape s = {0};
  for (int i = 0; i < v->shape.rank; i++)
    if (!gone[i] || keep) s.at[s.rank++] = gone[i] ? (Axis){.n = 1} : v->shape.at[i];
  if (empty) return give_nothing(n, row, &s);
  x = rows_filled(n, x, v->type, &v->shape, gone, nothing_of(row, v->type));
  if (!v->shape.rank) return give(n, 0, v->type, &s, filled(n, reductions[row].one, x, ""));
  const char *t =
      filled(n, reductions[row].as, x,
             text(n, ", axis = %s, keep = %s", ints_text(n, axes, count), keep ? "true" : "false"));
  if (!is_float(v) && (row == 1 || row > 7)) return refuse(n, "means and logarithms of integers");
  for (int i = 0; i < v->shape.rank; i++) { /* the mean of those that are there */
    const Axis d = v->shape.at[i];
    if (row == 1 && gone[i] && d.counted)
      t = text(n, "%s * (%lld / %s(%s))", t, (long long)d.n, elem_of(v->type)->gc,
               rows_text(n->im, d));
  }
  if (v->type == ELEM_U8 || v->type == ELEM_I8) t = text(n, "%s(%s)", elem_of(v->type)->gc, t);
  return give(n, 0, v->type, &s, t);
}

/* The last of the rows there that are the extreme, or no numbers, which are it too. */
static const char *last_place_there(Node *n, const char *x, int axis, bool most) {
  Tensor *v = input(n, 0);
  const long long size = (long long)v->shape.at[axis].n;
  x = let(n, x);
  const char *extreme = text(n, "%s(%s, axis = %d, keep = true)", most ? "max" : "min", x, axis);
  const char *is = text(n, "%s == %s", x, extreme);
  if (is_float(v)) is = text(n, "(%s or %s != %s)", is, x, x);
  return text(n, "max(where(%s and %s, %s, 0), axis = %d)", is, rows_there(n, &v->shape, axis),
              along(n, size, axis, v->shape.rank), axis);
}

bool onnx_arg_extreme(Node *n) {
  Tensor *v = input(n, 0);
  int axis;
  int64_t size;
  const bool most = strcmp(n->op, "ArgMax") == 0;
  const char *name = most ? "argmax" : "argmin", *x = tensor_text(n, v);
  if (!axis_from(n, attr_int(n, "axis", 0), v->shape.rank, &axis)) return false;
  bool along[MOST_RANK] = {false};
  along[axis] = true;
  x = rows_filled(n, x, v->type, &v->shape, along,
                  most ? lowest_text(v->type) : highest_text(v->type));
  const char *t = text(n, "%s(%s, axis = %d)", name, x, axis);
  if (attr_int(n, "select_last_index", 0) && v->shape.at[axis].counted) {
    t = last_place_there(n, x, axis, most);
  } else if (attr_int(n, "select_last_index", 0)) {
    if (!dim_number(n, v->shape.at[axis], &size)) return false;
    t = text(n, "%lld - %s(reverse(%s, axis = %d), axis = %d)", (long long)size - 1, name, x, axis,
             axis);
  }
  Shape s = v->shape;
  if (attr_int(n, "keepdims", 1)) {
    s.at[axis] = (Axis){.n = 1};
    return give(n, 0, ELEM_I64, &s, text(n, "i64(%s)", reshaped(n, t, &s)));
  }
  for (int i = axis; i + 1 < s.rank; i++) s.at[i] = s.at[i + 1];
  s.rank--;
  return give(n, 0, ELEM_I64, &s, text(n, "i64(%s)", t));
}

/* One place on along an axis, behind elements that are `first`. */
static const char *moved_on(Node *n, const char *x, int axis, const char *first) {
  const Tensor *v = input(n, 0);
  Shape s = v->shape;
  s.at[axis] = (Axis){.n = 1};
  const char *before = "", *edge = text(n, "full(%s, %s, dtype = %s)", shape_text(n->im, &s), first,
                                        elem_of(v->type)->gc);
  if (dim_same(v->shape.at[axis], s.at[axis])) return edge;
  for (int i = 0; i < axis; i++) before = text(n, "%s:, ", before);
  return let(n, text(n, "concat([%s, %s[%s:-1]], axis = %d)", edge, let(n, x), before, axis));
}

bool onnx_cumsum(Node *n) {
  Tensor *v = input(n, 0);
  int64_t given;
  int axis;
  if (!known_int(n, 1, &given) || !axis_from(n, given, v->shape.rank, &axis)) return false;
  bool back = attr_int(n, "reverse", 0) != 0;
  bool along[MOST_RANK] = {false}, product = strcmp(n->op, "CumProd") == 0;
  along[axis] = back;
  const char *x = rows_filled(n, tensor_text(n, v), v->type, &v->shape, along, product ? "1" : "0");
  if (back) x = text(n, "reverse(%s, axis = %d)", x, axis);
  if (attr_int(n, "exclusive", 0)) x = moved_on(n, x, axis, product ? "1" : "0");
  const char *t = text(n, product ? "cumprod(%s, axis = %d)" : "cumsum(%s, axis = %d)", x, axis);
  if (back) t = text(n, "reverse(%s, axis = %d)", t, axis);
  return give(n, 0, v->type, &v->shape, t);
}

/* Along a bounded axis: all of its elements in order, or as many as there always are. */
static bool bounded_topk(Node *n, int axis, Axis many, bool largest) {
  Tensor *v = input(n, 0);
  Shape s = v->shape;
  if (!dim_at_least(n->im, many, (Axis){.n = 1}) || !dim_at_least(n->im, s.at[axis], many))
    return refuse(n, "another number of elements than its input has");
  const char *x = tensor_text(n, v), *before = "";
  const char *order = largest ? ", descending = true" : "";
  const char *ids = let(n, text(n, "argsort(%s, axis = %d%s)", x, axis, order));
  for (int i = 0; i < axis; i++) before = text(n, "%s:, ", before);
  if (!dim_same(s.at[axis], many))
    ids = let(n, text(n, "%s[%s:%s]", ids, before, dim_text(n->im, many)));
  s.at[axis] = many;
  return give(n, 0, v->type, &s, text(n, "take_along(%s, %s, axis = %d)", x, ids, axis)) &&
         give(n, 1, ELEM_I64, &s, text(n, "i64(%s)", ids));
}

bool onnx_topk(Node *n) {
  Tensor *v = input(n, 0);
  int64_t k, perm[MOST_RANK], back[MOST_RANK], size;
  int axis, rank = v->shape.rank;
  bool largest = attr_int(n, "largest", 1) != 0, along[MOST_RANK] = {false};
  Axis many = {0};
  if (n->version < 10)
    many.n = attr_int(n, "k", 0);
  else if (!known_size(n, 1, &many))
    return false;
  if (!axis_from(n, attr_int(n, "axis", -1), rank, &axis)) return false;
  const bool negated = !largest && is_float(v); /* integers have one number without its negative */
  if (v->shape.at[axis].symbol || (!largest && !negated && !many.counted))
    return bounded_topk(n, axis, many, largest);
  if (!dim_number(n, many, &k)) return false;
  size = v->shape.at[axis].n;
  if (many.counted && many.n > size) many.n = size;
  k = many.n;
  if (k < 1 || k > size) return refuse(n, "another number of elements than its input has");
  if (!largest && !is_float(v)) return refuse(n, "the smallest of integers");
  for (int i = 0; i < rank; i++) perm[i] = i < axis ? i : i + 1 < rank ? i + 1 : axis;
  for (int i = 0; i < rank; i++) back[perm[i]] = i;
  bool moved = axis != rank - 1;
  along[axis] = true;
  const char *x = rows_filled(n, tensor_text(n, v), v->type, &v->shape, along,
                              largest ? lowest_text(v->type) : highest_text(v->type));
  if (moved) x = text(n, "transpose(%s, %s)", x, ints_text(n, perm, rank));
  const char *values, *ids;
  let_two(n, text(n, "topk(%s%s, %lld)", largest ? "" : "-", x, (long long)k), &values, &ids);
  if (moved) {
    values = text(n, "transpose(%s, %s)", values, ints_text(n, back, rank));
    ids = text(n, "transpose(%s, %s)", ids, ints_text(n, back, rank));
  }
  Shape s = v->shape;
  s.at[axis] = many;
  return give(n, 0, v->type, &s, text(n, "%s%s", largest ? "" : "-", values)) &&
         give(n, 1, ELEM_I64, &s, text(n, "i64(%s)", ids));
}
