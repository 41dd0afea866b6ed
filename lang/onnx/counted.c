/* Tensors whose number of rows the data decide: NonZero, Unique, and Compress by a computed
   condition. Contract: such an axis has the elements of its bound, the rows that there are in
   front; what those behind hold is of no meaning, but indices among them are in range. A variable
   holds the number of rows, which becomes an output of the program. What reads such a tensor is an
   operator that computes each row from that row alone, or that puts a number that changes nothing
   in the place of the rows that are not there. */
#include "lang/onnx/graph.h"

bool axis_is_counted(const Shape *s, int from, int to) {
  for (int i = from; i < to; i++)
    if (s->at[i].counted) return true;
  return false;
}

bool tensor_is_counted(const Tensor *v) { return axis_is_counted(&v->shape, 0, v->shape.rank); }

/* What stands outside of loops is computed once. */
int count_new(Node *n, const char *expression) {
  Import *im = n->im;
  const char *of = intern(im->c, expression);
  uint32_t count;
  if (map_get(&im->count_of, of, &count)) return (int)count;
  vec_push(im->a, &im->counts, let(n, expression));
  if (!im->block) map_put(im->a, &im->count_of, of, im->counts.n);
  return (int)im->counts.n;
}

const char *rows_text(const Import *im, Axis d) { return im->counts.at[d.counted - 1]; }

const char *rows_there(Node *n, const Shape *s, int axis) {
  Shape one = {.rank = s->rank};
  for (int i = 0; i < s->rank; i++) one.at[i] = i == axis ? s->at[i] : (Axis){.n = 1};
  const char *flags =
      text(n, "iota(%lld) < %s", (long long)s->at[axis].n, rows_text(n->im, s->at[axis]));
  return reshaped(n, flags, &one);
}

const char *rows_filled(Node *n, const char *x, int type, const Shape *s, const bool *axes,
                        const char *number) {
  const char *all = "";
  for (int i = 0; i < s->rank; i++)
    if (axes[i] && s->at[i].counted)
      all = text(n, "%s%s%s", all, *all ? " and " : "", rows_there(n, s, i));
  return *all ? let(n, text(n, "where(%s, %s, %s)", all, x, number)) : x;
}

const char *lowest_text(int type) {
  return elem_of(type)->is_float ? "-inf"
         : type == ELEM_I64      ? "(-9223372036854775807 - 1)"
         : type == ELEM_U8       ? "0"
         : type == ELEM_I8       ? "-128"
                                 : "(-2147483647 - 1)";
}

const char *highest_text(int type) {
  return elem_of(type)->is_float ? "inf"
         : type == ELEM_I64      ? "9223372036854775807"
         : type == ELEM_U8       ? "255"
         : type == ELEM_I8       ? "127"
                                 : "2147483647";
}

static Tensor *counted_ids(Node *n, Tensor *ids) {
  Tensor *v = value_new(n->im, ids->type, &ids->shape);
  v->wish = ids->wish, v->counts = ids->counts, v->below = ids->below;
  const char *t = tensor_text(n, ids);
  for (int i = 0; i < ids->shape.rank; i++)
    if (ids->shape.at[i].counted) t = text(n, "where(%s, %s, 0)", rows_there(n, &ids->shape, i), t);
  v->name = let(n, t);
  return v;
}

/* ---- who reads them ---- */

static bool of_each_element(OperatorFn *f) {
  static OperatorFn *const all[] = {onnx_unary,    onnx_binary, onnx_pow,    onnx_mod,
                                    onnx_several,  onnx_where,  onnx_clip,   onnx_cast,
                                    onnx_identity, onnx_is_nan, onnx_is_inf, onnx_activation};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] == f) return true;
  return false;
}

/* Operators that move rows, or make each of its row, and refuse what they cannot themselves. */
static bool of_each_row(OperatorFn *f) {
  static OperatorFn *const all[] = {
      onnx_transpose, onnx_squeeze, onnx_unsqueeze,   onnx_reshape,     onnx_slice,
      onnx_concat,    onnx_reduce,  onnx_arg_extreme, onnx_split,       onnx_expand,
      onnx_topk,      onnx_cumsum,  onnx_range,       onnx_suppression, onnx_constant_of_shape};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] == f) return true;
  return false;
}

bool counted_readable(Node *n, const Operator *op) {
  bool some = false, first = false;
  for (int i = 0; i < n->nin; i++) {
    const bool is = n->in[i] && !n->in[i]->list && tensor_is_counted(n->in[i]);
    some |= is, first |= is && !i;
  }
  if (!some) return true;
  const bool rows =
      op && (op->translate == onnx_gather ||
             (!first && (op->translate == onnx_gather_nd || op->translate == onnx_scatter_nd ||
                         op->translate == onnx_scatter_elements)));
  if (rows && tensor_is_counted(n->in[1])) n->in[1] = counted_ids(n, n->in[1]);
  if (rows) return true;
  if (op && (of_each_element(op->translate) || of_each_row(op->translate))) return true;
  return refuse(n, "rows whose number the data decide");
}

/* ---- the rows that a condition chooses ---- */

const char *chosen(Node *n, const char *flags, int64_t most, int *count) {
  Import *im = n->im;
  const char *of = intern(im->c, flags);
  uint32_t at;
  if (map_get(&im->rows_of, of, &at))
    return *count = im->chosen.at[at].count, im->chosen.at[at].ids;
  flags = let(n, flags);
  *count = count_new(n, text(n, "sum(i32(%s))", flags));
  const char *place =
      let(n, text(n, "where(%s, cumsum(i32(%s)) - 1, %lld)", flags, flags, (long long)most));
  const char *ids = let(n, text(n, "scatter_add(zeros([%lld], i32), %s, iota(%lld))[0:%lld]",
                                (long long)most + 1, place, (long long)most, (long long)most));
  if (im->block) return ids;
  map_put(im->a, &im->rows_of, of, im->chosen.n);
  vec_push(im->a, &im->chosen, (Chosen){ids, *count});
  return ids;
}

/* Rows of all inputs, then those of them that are there. */
bool concat_counted(Node *n, int axis) {
  Shape s = input(n, 0)->shape;
  const char *t = "", *flags = "";
  int64_t all = 0, size;
  int count;
  for (int i = 0; i < n->nin; i++) {
    Tensor *x = input(n, i);
    const Axis d = x->shape.at[axis];
    if (!dim_number(n, d, &size)) return false;
    const char *there = d.counted ? text(n, "iota(%lld) < %s", (long long)size, rows_text(n->im, d))
                                  : text(n, "full([%lld], true)", (long long)size);
    t = text(n, "%s%s%s", t, i ? ", " : "", tensor_text(n, x));
    flags = text(n, "%s%s%s", flags, i ? ", " : "", there);
    if (__builtin_add_overflow(all, size, &all) || all >= INT32_MAX)
      return refuse(n, "a tensor that is too large");
  }
  const char *ids = chosen(n, text(n, "concat([%s], axis = 0)", flags), all, &count);
  s.at[axis] = (Axis){.n = all, .counted = count};
  t = let(n, text(n, "concat([%s], axis = %d)", t, axis));
  return give(n, 0, input(n, 0)->type, &s, gathered(n, t, s.rank, axis, ids, 1));
}

bool counted_elements(Node *n, const Shape *s, int64_t *count) {
  uint64_t all;
  enum { MOST = 1 << 30 };
  *count = 0;
  for (int i = 0; i < s->rank; i++)
    if (!dim_number(n, s->at[i], count)) return false;
  if (!shape_count(s, &all) || all < 1 || all > MOST)
    return refuse(n, "a number of elements that is too large");
  *count = (int64_t)all;
  return true;
}

bool onnx_nonzero(Node *n) {
  Tensor *v = input(n, 0);
  int64_t all, stride[MOST_RANK];
  int count, rank = v->shape.rank;
  if (!rank) return refuse(n, "a scalar");
  if (!counted_elements(n, &v->shape, &all)) return false;
  const Shape line = {.rank = 1, .at = {{.n = all}}};
  const char *flags = reshaped(n, tensor_text(n, v), &line), *rows = "";
  if (v->type != ELEM_BOOL) flags = text(n, "%s != 0", flags);
  const char *ids = chosen(n, flags, all, &count);
  strides_of(&v->shape, stride);
  for (int i = 0; i < rank; i++)
    rows = text(n, "%s%s%s // %lld %% %lld", rows, i ? ", " : "", ids, (long long)stride[i],
                (long long)v->shape.at[i].n);
  const Shape s = {.rank = 2, .at = {{.n = rank}, {.n = all, .counted = count}}};
  return give(n, 0, ELEM_I64, &s, text(n, "i64(stack([%s]))", rows));
}

bool compress_computed(Node *n, const char *x, const Shape *from, int axis) {
  Tensor *v = input(n, 0), *condition = input(n, 1);
  int64_t all, size;
  int count;
  if (condition->shape.rank != 1 || condition->type != ELEM_BOOL ||
      !counted_elements(n, &condition->shape, &all) || !dim_number(n, from->at[axis], &size))
    return refuse(n, "a condition that is no list of bools");
  if (all > size) return refuse(n, "shapes that do not fit");
  const char *ids = chosen(n, tensor_text(n, condition), all, &count);
  Shape s = *from;
  s.at[axis] = (Axis){.n = all, .counted = count};
  return give(n, 0, v->type, &s, gathered(n, x, s.rank, axis, ids, 1));
}
