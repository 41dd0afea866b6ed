/* Operators that look up, sort and write by index. Contract: negative indices count from the end;
   one without effect, in an iteration behind a loop's end or in a branch that is not taken, is 0.
 */
#include "lang/onnx/import.h"

#include <math.h>

/* The index, or 0 in an iteration or a branch without effect, where it may be out of range. */
static const char *counting(Node *n, const char *index) {
  const char *yes = n->im->counting;
  return yes ? text(n, "where(%s, %s, 0)", yes, index) : index;
}

const char *positive(Node *n, Tensor *ids, Axis size) {
  uint64_t count;
  const Number *x =
      shape_count(&ids->shape, &count) && count <= MOST_KNOWN ? known_of(n->im, ids) : NULL;
  bool negative = !x && !ids->counts;
  for (uint64_t i = 0; x && i < count; i++) negative |= x[i].i < 0;
  const char *t = tensor_text(n, ids),
             *all = size.counted ? rows_text(n->im, size) : dim_text(n->im, size);
  if (negative) t = text(n, "where(%s < 0, %s + (%s), %s)", t, t, all, t);
  const bool in_range = x || (ids->counts && !size.symbol && !size.counted && ids->below <= size.n);
  return in_range ? t : counting(n, t);
}

bool onnx_gather(Node *n) {
  Tensor *v = input(n, 0), *ids = input(n, 1);
  int axis, rank = v->shape.rank, more = ids->shape.rank;
  if (!axis_from(n, attr_int(n, "axis", 0), rank, &axis)) return false;
  const Axis size = v->shape.at[axis];
  Shape s = {.rank = rank - 1 + more};
  if (s.rank > MOST_RANK) return refuse(n, "more than 16 axes");
  for (int i = 0; i < s.rank; i++)
    s.at[i] = i < axis          ? v->shape.at[i]
              : i < axis + more ? ids->shape.at[i - axis]
                                : v->shape.at[i - more + 1];
  Number one;
  if (!more && !size.counted && is_one_number(n->im, ids, &one) &&
      !one.symbol) { /* a row that is known */
    const char *before = "";
    for (int i = 0; i < axis; i++) before = text(n, "%s:, ", before);
    if (size.symbol && (one.i < -1 || one.i > 0))
      return refuse(n, "a row of a bounded dimension that is neither the first nor the last");
    if (!size.symbol && (one.i < -size.n || one.i >= size.n))
      return refuse(n, "an index that is out of range");
    return give(n, 0, v->type, &s,
                text(n, "%s[%s%lld]", tensor_text(n, v), before, (long long)one.i));
  }
  return give(n, 0, v->type, &s,
              gathered(n, tensor_text(n, v), rank, axis, positive(n, ids, size), more));
}

bool onnx_gather_elements(Node *n) {
  Tensor *v = input(n, 0), *ids = input(n, 1);
  int axis;
  if (!axis_from(n, attr_int(n, "axis", 0), v->shape.rank, &axis)) return false;
  const Axis size = v->shape.at[axis];
  if (ids->shape.rank != v->shape.rank) return refuse(n, "shapes that do not fit");
  const char *cut = "";
  bool cuts = false;
  for (int i = 0; i < v->shape.rank; i++) {
    bool part = i != axis && !dim_same(ids->shape.at[i], v->shape.at[i]);
    if (part &&
        (ids->shape.at[i].symbol || v->shape.at[i].symbol || ids->shape.at[i].n > v->shape.at[i].n))
      return refuse(n, "shapes that do not fit");
    cuts |= part;
    cut = text(n, "%s%s%s", cut, i ? ", " : "",
               part ? text(n, "0:%lld", (long long)ids->shape.at[i].n) : ":");
  }
  const char *t = tensor_text(n, v);
  if (cuts) t = text(n, "%s[%s]", t, cut);
  return give(n, 0, v->type, &ids->shape,
              text(n, "take_along(%s, %s, axis = %d)", t, positive(n, ids, size), axis));
}

/* Elements of the axes, as reshape takes them: of several symbols the language finds them. */
static Axis flat_axis(const Shape *s, int end) {
  Axis all;
  return dim_product(s, 0, end, &all) ? all : (Axis){.n = -1};
}

/* Numbers of the rows [number, rest] of x that the last axis of ids names, from axis `batch` on. */
static bool row_numbers(Node *n, Tensor *v, Tensor *ids, int batch, const char **at, Shape *rows) {
  int last = ids->shape.rank - 1;
  int64_t k, size;
  if (last < batch || !dim_number(n, ids->shape.at[last], &k)) return false;
  if (k < 1 || k + batch > v->shape.rank)
    return refuse(n, "indices of more axes than its input has");
  const char *t = tensor_text(n, ids), *sum = "";
  for (int i = 0; i < batch + (int)k; i++) {
    const char *dim = dim_text(n->im, v->shape.at[i]),
               *place = text(n, "%s[..., %d]", t, i - batch);
    if (i >= batch)
      place = counting(n, text(n, "where(%s < 0, %s + (%s), %s)", place, place, dim, place));
    else if (dim_number(n, v->shape.at[i], &size))
      place = text(n, "i64(%s)", along(n, size, i, last));
    else
      return false;
    sum = i ? text(n, "(%s) * (%s) + %s", sum, dim, place) : place;
  }
  *at = sum;
  *rows = (Shape){.rank = 1, .at = {flat_axis(&v->shape, batch + (int)k)}};
  for (int i = batch + (int)k; i < v->shape.rank; i++) rows->at[rows->rank++] = v->shape.at[i];
  return true;
}

bool onnx_gather_nd(Node *n) {
  Tensor *v = input(n, 0), *ids = input(n, 1);
  int64_t batch = attr_int(n, "batch_dims", 0);
  Shape rows, s = ids->shape;
  const char *at;
  if (batch < 0 || batch >= v->shape.rank || batch >= s.rank)
    return refuse(n, "batch axes that are not there");
  if (!row_numbers(n, v, ids, (int)batch, &at, &rows)) return false;
  s.rank--;
  if (s.rank + rows.rank - 1 > MOST_RANK) return refuse(n, "more than 16 axes");
  for (int i = 1; i < rows.rank; i++) s.at[s.rank++] = rows.at[i];
  return give(n, 0, v->type, &s,
              text(n, "gather(%s, %s)", reshaped(n, tensor_text(n, v), &rows), at));
}

/* One update behind the other, in place: rows of a table multiplied by them, or the greater or the
   lesser of both. */
static const char *updated(Node *n, const char *how, const char *table, const Shape *rows,
                           uint64_t count, const char *at, const char *updates) {
  Shape one = *rows;
  one.at[0] = (Axis){.n = 1};
  const char *t = let(n, table), *k = name_new(n->im, "k");
  at = let(n, text(n, "i32(%s)", at)), updates = let(n, updates);
  statement_add(n->im, text(n, "scan %s in 0..%lld {", k, (long long)count));
  n->im->block++;
  const char *place = let(n, text(n, "%s[%s]", at, k)), *row = text(n, "gather(%s, %s)", t, place),
             *both = strcmp(how, "mul") == 0 ? text(n, "%s * %s[%s]", row, updates, k)
                                             : text(n, "%s(%s, %s[%s])", how, row, updates, k);
  statement_add(n->im, text(n, "%s = dynamic_update(%s, %s, %s, axis = 0)", t, t,
                            reshaped(n, both, &one), place));
  n->im->block--;
  statement_add(n->im, "}");
  return t;
}

/* The attribute, or what it is if it is not there; NULL after refusing. */
static const char *reduction_of(Node *n) {
  static const char *const all[] = {"none", "add", "mul", "max", "min"};
  const char *how = attr_string(n, "reduction", "none");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(how, all[i]) == 0) return how;
  return refuse(n, "writing by index with %s", how), NULL;
}

/* Updates of rows of a table that are there; those of rows whose number the data decide, and that
   are not there, go to one more row. ids: their shape, whose places `at` has in one axis. */
static const char *written(Node *n, const char *how, const char *table, const Shape *rows,
                           const Shape *ids, const char *at, const char *updates) {
  const char *there = "", *fn = strcmp(how, "add") == 0 ? "scatter_add" : "scatter";
  uint64_t count;
  for (int i = 0; i < ids->rank; i++)
    if (ids->at[i].counted)
      there = text(n, "%s%s%s", there, *there ? " and " : "", rows_there(n, ids, i));
  if (*how == 'm' && (*there || !shape_count(ids, &count)))
    return refuse(n, "a number of rows that gc does not know, written with %s", how), "0";
  if (*how == 'm') return updated(n, how, table, rows, count, at, updates);
  if (!*there) return text(n, "%s(%s, %s, %s)", fn, table, at, updates);
  const char *end = dim_text(n->im, rows->at[0]);
  Shape flags = {.rank = ids->rank};
  for (int i = 0; i < ids->rank; i++) flags.at[i] = (Axis){.n = ids->at[i].n};
  there = text(n, "broadcast(%s, %s)", there, shape_text(n->im, &flags));
  table = let(n, table);
  return text(n, "%s(concat([%s, %s[0:1]], axis = 0), where(reshape(%s, [-1]), %s, %s), %s)[0:%s]",
              fn, table, table, there, at, end, updates, end);
}

bool onnx_scatter_nd(Node *n) {
  Tensor *v = input(n, 0), *ids = input(n, 1), *updates = input(n, 2);
  Shape rows, list = {.rank = 1, .at = {flat_axis(&ids->shape, ids->shape.rank - 1)}};
  const char *at, *how = reduction_of(n);
  if (!how || !row_numbers(n, v, ids, 0, &at, &rows)) return false;
  Shape each = rows;
  each.at[0] = list.at[0];
  Shape places = ids->shape;
  places.rank--;
  const char *t = written(n, how, reshaped(n, tensor_text(n, v), &rows), &rows, &places,
                          reshaped(n, at, &list), reshaped(n, tensor_text(n, updates), &each));
  return give(n, 0, v->type, &v->shape, reshaped(n, t, &v->shape));
}

bool onnx_scatter_elements(Node *n) {
  Tensor *v = input(n, 0), *ids = input(n, 1), *updates = input(n, 2);
  const char *how = reduction_of(n), *flat = "";
  int64_t dims[MOST_RANK], each[MOST_RANK], stride[MOST_RANK];
  int axis, rank = v->shape.rank;
  if (!how || !axis_from(n, attr_int(n, "axis", 0), rank, &axis) || !shape_numbers(n, v, dims) ||
      !shape_numbers(n, ids, each))
    return false;
  if (ids->shape.rank != rank || !shape_same(&ids->shape, &updates->shape))
    return refuse(n, "shapes that do not fit");
  strides_of(&v->shape, stride);
  for (int i = 0; i < rank; i++) {
    const char *at = i == axis ? text(n, "i32(%s)", positive(n, ids, v->shape.at[i]))
                               : along(n, each[i], i, rank);
    flat = text(n, "%s%s%s * %lld", flat, i ? " + " : "", at, (long long)stride[i]);
  }
  const Shape line = {.rank = 1, .at = {{.n = stride[0] * dims[0]}}};
  const char *t = written(n, how, reshaped(n, tensor_text(n, v), &line), &line, &ids->shape,
                          text(n, "reshape(%s, [-1])", flat),
                          text(n, "reshape(%s, [-1])", tensor_text(n, updates)));
  return give(n, 0, v->type, &v->shape, reshaped(n, t, &v->shape));
}

bool onnx_one_hot(Node *n) {
  Tensor *ids = input(n, 0), *values = input(n, 2);
  int64_t depth;
  int axis;
  Shape s = {.rank = ids->shape.rank + 1}, one;
  Number x;
  if (!is_one_number(n->im, input(n, 1), &x))
    return known_input(n, 1) && refuse(n, "several depths");
  depth = is_float(input(n, 1)) ? (int64_t)fmax(-1, fmin(x.f, INT32_MAX)) : x.symbol ? 0 : x.i;
  if (s.rank > MOST_RANK || depth < 1 || depth > INT32_MAX)
    return refuse(n, "a depth that is no size");
  if (!axis_from(n, attr_int(n, "axis", -1), s.rank, &axis)) return false;
  for (int i = 0; i < s.rank; i++)
    s.at[i] = i == axis ? (Axis){.n = depth} : ids->shape.at[i - (i > axis)];
  one = s;
  one.at[axis] = (Axis){.n = 1};
  const char *at = let(n, text(n, "i64(%s)", tensor_text(n, ids))), *v = tensor_text(n, values);
  at =
      reshaped(n, text(n, "i32(where(%s < 0, %s + %lld, %s))", at, at, (long long)depth, at), &one);
  return give(n, 0, values->type, &s,
              text(n, "where(%s == %s, %s[1], %s[0])", along(n, depth, axis, s.rank), at, v, v));
}
