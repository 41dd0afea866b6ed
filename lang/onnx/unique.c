/* Unique: elements, or rows along an axis, that are equal count once. Contract: see counted.c. Rows
   are compared each with each, so that their number is limited. */
#include "lang/onnx/graph.h"

/* Values, first places, the group of each and sizes of groups, of rows along an axis. */
static bool give_groups(Node *n, int axis, int count, const char *first, const char *group) {
  Tensor *v = input(n, 0);
  Shape s = v->shape;
  const long long m = (long long)s.at[axis].n;
  const Shape all = {.rank = 1, .at = {{.n = m}}},
              rows = {.rank = 1, .at = {{.n = m, .counted = count}}};
  s.at[axis].counted = count;
  const char *sizes =
      text(n, "scatter_add(zeros([%lld], i32), %s, full([%lld], 1, dtype = i32))", m, group, m);
  return give(n, 0, v->type, &s, gathered(n, tensor_text(n, v), s.rank, axis, first, 1)) &&
         give(n, 1, ELEM_I64, &rows, text(n, "i64(%s)", first)) &&
         give(n, 2, ELEM_I64, &all, text(n, "i64(%s)", group)) &&
         give(n, 3, ELEM_I64, &rows, text(n, "i64(%s)", sizes));
}

static bool unique_rows(Node *n) {
  Tensor *v = input(n, 0);
  int64_t all, perm[MOST_RANK];
  int axis, count;
  enum { MOST = 1 << 28 };
  if (!axis_from(n, attr_int(n, "axis", 0), v->shape.rank, &axis) ||
      !counted_elements(n, &v->shape, &all))
    return false;
  const int64_t m = v->shape.at[axis].n;
  if (tensor_is_counted(v)) return refuse(n, "rows whose number the data decide");
  if (m > MOST / all) return refuse(n, "rows that are too many or too long to be compared");
  for (int i = 0; i < v->shape.rank; i++) perm[i] = !i ? axis : i <= axis ? i - 1 : i;
  const Shape flat = {.rank = 2, .at = {{.n = m}, {.n = all / m}}};
  const char *x = reshaped(
      n, text(n, "transpose(%s, %s)", tensor_text(n, v), ints_text(n, perm, v->shape.rank)), &flat);
  x = let(n, v->type == ELEM_BOOL ? text(n, "i32(%s)", x) : x);
  /* where two rows differ first, one of them is the less there */
  const char *differ = text(n, "%s[:, none] != %s[none]", x, x);
  if (is_float(v)) /* what are no numbers stand behind all that are */
    differ = text(n, "%s and ((%s == %s)[:, none] or (%s == %s)[none])", differ, x, x, x, x);
  const char *at = let(n, text(n, "argmax(i32(%s), axis = 2)", differ)),
             *own = let(n, text(n, "take_along(%s, %s, axis = 1)", x, at)),
             *other = let(n, text(n,
                                  "transpose(take_along(%s, transpose(%s, [1, 0]), axis = 1), "
                                  "[1, 0])",
                                  x, at)),
             *less = text(n, "%s < %s", own, other), *equal = text(n, "%s == %s", own, other);
  if (is_float(v)) { /* as in NumPy, a row with one of these is equal to none but itself */
    const char *row = let(n, text(n, "reshape(iota(%lld), [-1, 1])", (long long)m)),
               *numbers = let(n, text(n, "min(i32(%s == %s), axis = 1, keep = true) == 1", x, x));
    equal = let(n, text(n, "%s or %s != %s and %s != %s", equal, own, own, other, other));
    less = text(n, "%s or %s == %s and %s != %s or %s and not %s and %s < %s'", less, own, own,
                other, other, equal, numbers, row, row);
    equal = text(n, "%s and (%s or %s == %s')", equal, numbers, row, row);
  }
  less = let(n, less);
  const char *first = let(n, text(n, "min(where(%s, reshape(iota(%lld), [-1, 1]), %lld), axis = 0)",
                                  equal, (long long)m, (long long)m)),
             *fresh = let(n, text(n, "%s == iota(%lld)", first, (long long)m));
  if (!attr_int(n, "sorted", 1)) { /* in the order of their first places */
    const char *ids = chosen(n, fresh, m, &count);
    return give_groups(n, axis, count, ids,
                       let(n, text(n, "gather(cumsum(i32(%s)) - 1, %s)", fresh, first)));
  }
  const char *group =
      let(n, text(n, "sum(i32(reshape(%s, [-1, 1]) and %s), axis = 0)", fresh, less));
  count = count_new(n, text(n, "sum(i32(%s))", fresh));
  const char *ids =
      let(n, text(n, "scatter_add(zeros([%lld], i32), where(%s, %s, %lld), iota(%lld))[0:%lld]",
                  (long long)m + 1, fresh, group, (long long)m, (long long)m, (long long)m));
  return give_groups(n, axis, count, ids, group);
}

/* Elements that are equal stand side by side in order; the first of each, as argsort has it, is the
   first in the input, too. All that are no numbers are equal, and stand behind the others. */
bool onnx_unique(Node *n) {
  Tensor *v = input(n, 0);
  int64_t all;
  int count;
  if (attr_of(n, "axis") && v->shape.rank != 1) return unique_rows(n);
  if (!counted_elements(n, &v->shape, &all)) return false;
  const long long m = (long long)all;
  const Shape line = {.rank = 1, .at = {{.n = all}}};
  const char *x =
      let(n, v->type == ELEM_BOOL ? text(n, "i32(%s)", reshaped(n, tensor_text(n, v), &line))
                                  : reshaped(n, tensor_text(n, v), &line));
  const char *order = let(n, text(n, "argsort(%s)", x)),
             *in_order = let(n, text(n, "gather(%s, %s)", x, order));
  const char *differs = text(n, "%s[1:] != %s[:-1]", in_order, in_order);
  if (is_float(v)) differs = text(n, "%s and %s[:-1] == %s[:-1]", differs, in_order, in_order);
  const char *fresh =
      all == 1 ? "full([1], true)" : text(n, "concat([full([1], true), %s], axis = 0)", differs);
  fresh = let(n, fresh);
  const char *group = let(n, text(n, "cumsum(i32(%s)) - 1", fresh)),
             *first = let(n, text(n, "gather(%s, %s)", order, chosen(n, fresh, all, &count)));
  const char *number = rows_text(n->im, (Axis){.counted = count});
  const char *sizes = let(
      n, text(n, "scatter_add(zeros([%lld], i32), %s, full([%lld], 1, dtype = i32))", m, group, m));
  if (!attr_int(n, "sorted", 1)) { /* groups by the places of their first elements */
    const char *at =
        let(n, text(n, "argsort(where(iota(%lld) < %s, %s, %lld))", m, number, first, m));
    const char *back = let(n, text(n, "scatter_add(zeros([%lld], i32), %s, iota(%lld))", m, at, m));
    group = let(n, text(n, "gather(%s, %s)", back, group));
    first = let(n, text(n, "gather(%s, %s)", first, at)),
    sizes = let(n, text(n, "gather(%s, %s)", sizes, at));
  }
  const Shape s = {.rank = 1, .at = {{.n = all, .counted = count}}};
  const char *values = text(n, "gather(%s, %s)", x, first);
  return give(n, 0, v->type, &s, v->type == ELEM_BOOL ? text(n, "%s != 0", values) : values) &&
         give(n, 1, ELEM_I64, &s, text(n, "i64(%s)", first)) &&
         give(n, 2, ELEM_I64, &line,
              text(n, "i64(scatter_add(zeros([%lld], i32), %s, %s))", m, order, group)) &&
         give(n, 3, ELEM_I64, &s, text(n, "i64(%s)", sizes));
}
