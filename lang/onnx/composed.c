/* Operators of ONNX that are written with several functions of the language. */
#include "lang/onnx/compose.h"

bool onnx_swiglu(Node *n) {
  Compose c = {.n = n};
  Tensor *x = compose(&c, "Swish", IN(input(n, 0)), with_its_own(&c));
  return compose_give(&c, 0, compose(&c, "Mul", IN(x, input(n, 1)), WITHOUT));
}

bool onnx_global_lp_pool(Node *n) {
  Tensor *v = input(n, 0);
  const int64_t p = attr_int(n, "p", 2);
  int64_t axes[MOST_RANK];
  Shape s = v->shape;
  const int count = s.rank - 2;
  if (count < 1 || p < 1)
    return refuse(n, "no axes to pool over, or a norm of order %lld", (long long)p);
  for (int i = 0; i < count; i++) axes[i] = i + 2, s.at[i + 2] = (Axis){.n = 1};
  return give(n, 0, v->type, &s,
              text(n, "sum(abs(%s) ** %lld, axis = %s, keep = true) ** %s", tensor_text(n, v),
                   (long long)p, ints_text(n, axes, count), real(n, 1 / (double)p)));
}

/* The middle of each axis, or zeros on both sides of it. */
bool onnx_center_crop_pad(Node *n) {
  Tensor *v = input(n, 0);
  int64_t to[2 * MOST_RANK], axes[2 * MOST_RANK], lo[MOST_RANK] = {0}, hi[MOST_RANK] = {0}, d;
  int count, named = -1, axis;
  const char *cut[MOST_RANK], *t = "";
  if (!known_ints(n, 1, NULL, to, MOST_RANK, &count)) return false;
  if (attr_of(n, "axes") && !attr_ints(n, "axes", axes, &named)) return refuse(n, "too many axes");
  Shape s = v->shape;
  if (named < 0)
    for (named = 0; named < s.rank; named++) axes[named] = named;
  if (count != named) return refuse(n, "lists of different lengths");
  for (int i = 0; i < s.rank; i++) cut[i] = ":";
  for (int i = 0; i < count; i++) {
    if (!axis_from(n, axes[i], s.rank, &axis) || !dim_number(n, s.at[axis], &d)) return false;
    if (to[i] < 1 || to[i] > INT32_MAX) return refuse(n, "a tensor without elements");
    const int64_t from = d > to[i] ? (d - to[i]) / 2 : 0;
    if (d > to[i]) cut[axis] = text(n, "%lld:%lld", (long long)from, (long long)(from + to[i]));
    if (d < to[i]) lo[axis] = (to[i] - d) / 2, hi[axis] = to[i] - d - lo[axis];
    s.at[axis] = (Axis){.n = to[i]};
  }
  for (int i = 0; i < s.rank; i++) t = text(n, "%s%s%s", t, i ? ", " : "", cut[i]);
  return give(n, 0, v->type, &s,
              text(n, "pad(%s[%s], %s, %s)", tensor_text(n, v), t, ints_text(n, lo, s.rank),
                   ints_text(n, hi, s.rank)));
}

/* ---- rows that each place of a batch has for itself ---- */

/* Along an axis of x, of this rank, the rows that ids, [batch, count], says for each place of the
   axis `batch`. */
static const char *rows_of_batch(Node *n, const char *x, int rank, int batch, int axis,
                                 const char *ids) {
  int64_t perm[MOST_RANK], back[MOST_RANK];
  int k = 2;
  perm[0] = batch, perm[1] = axis;
  for (int i = 0; i < rank; i++)
    if (i != batch && i != axis) perm[k++] = i;
  for (int i = 0; i < rank; i++) back[perm[i]] = i;
  return text(n, "transpose(gather(transpose(%s, %s), %s, batch = 1), %s)", x,
              ints_text(n, perm, rank), ids, ints_text(n, back, rank));
}

/* The first elements of each row backwards. */
bool onnx_reverse_sequence(Node *n) {
  Tensor *v = input(n, 0), *lengths = input(n, 1);
  int batch, axis;
  int64_t length;
  if (!axis_from(n, attr_int(n, "batch_axis", 1), v->shape.rank, &batch) ||
      !axis_from(n, attr_int(n, "time_axis", 0), v->shape.rank, &axis) ||
      !dim_number(n, v->shape.at[axis], &length))
    return false;
  if (batch == axis || lengths->shape.rank != 1 ||
      !dim_same(lengths->shape.at[0], v->shape.at[batch]))
    return refuse(n, "shapes that do not fit");
  const Shape column = {.rank = 2, .at = {v->shape.at[batch], {.n = 1}}};
  const char *many = let(n, reshaped(n, text(n, "i32(%s)", tensor_text(n, lengths)), &column)),
             *at = along(n, length, 1, 2);
  const char *ids = let(n, text(n, "where(%s < %s, %s - 1 - %s, %s)", at, many, many, at, at));
  return give(n, 0, v->type, &v->shape,
              rows_of_batch(n, tensor_text(n, v), v->shape.rank, batch, axis, ids));
}

/* Rows of a cache from an index on that each place of the batch has. */
bool onnx_tensor_scatter(Node *n) {
  Tensor *v = input(n, 0), *update = input(n, 1), *from = input(n, 2);
  const bool circular = strcmp(attr_string(n, "mode", "linear"), "circular") == 0;
  const int rank = v->shape.rank;
  int64_t all, count;
  int axis;
  if (!axis_from(n, attr_int(n, "axis", -2), rank, &axis)) return false;
  Shape part = v->shape;
  if (update->shape.rank == rank) part.at[axis] = update->shape.at[axis];
  if (axis == 0 || !shape_same(&part, &update->shape) ||
      (from && (from->shape.rank != 1 || !dim_same(from->shape.at[0], v->shape.at[0]))))
    return refuse(n, "shapes that do not fit");
  if (!dim_number(n, v->shape.at[axis], &all) || !dim_number(n, part.at[axis], &count))
    return false;
  if (count > all) return refuse(n, "shapes that do not fit");
  const Shape column = {.rank = 2, .at = {v->shape.at[0], {.n = 1}}};
  const char *at = from ? reshaped(n, text(n, "i32(%s)", tensor_text(n, from)), &column)
                        : text(n, "zeros(%s, i32)", shape_text(n->im, &column));
  at = let(n, text(n, "%s - %s", along(n, all, 1, 2), at));
  if (circular) at = let(n, text(n, "%s %% %lld", at, (long long)all));
  Shape wide = {.rank = rank};
  for (int i = 0; i < rank; i++) wide.at[i] = i == 0 || i == axis ? v->shape.at[i] : (Axis){.n = 1};
  const char *hit = let(n, text(n, "%s >= 0 and %s < %lld", at, at, (long long)count)),
             *t = tensor_text(n, update);
  if (count > 1) {
    t = rows_of_batch(n, t, rank, 0, axis, text(n, "clamp(%s, 0, %lld)", at, (long long)count - 1));
  }
  return give(n, 0, v->type, &v->shape,
              text(n, "where(%s, %s, %s)", reshaped(n, hit, &wide), t, tensor_text(n, v)));
}

/* A convolution of each channel with what stands before it, and the last elements for the next
   step. */
bool onnx_causal_conv(Node *n) {
  Compose c = {.n = n};
  Tensor *x = input(n, 0), *w = input(n, 1), *past = input(n, 3);
  const char *activation = attr_string(n, "activation", "none");
  int64_t channels, taps;
  if (x->shape.rank != 3 || w->shape.rank != 3) return refuse(n, "shapes that do not fit");
  if (!dim_number(n, x->shape.at[1], &channels) || !dim_number(n, w->shape.at[2], &taps))
    return false;
  const bool swish = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
  if (!swish && strcmp(activation, "none") != 0) return refuse(n, "the activation %s", activation);
  if (taps < 2 || taps > INT16_MAX) return refuse(n, "a window of %lld", (long long)taps);
  const int64_t pads[] = {0, 0, taps - 1, 0, 0, 0}, from = 1 - taps, end = INT64_MAX, axis = 2;
  Tensor *all = past ? compose(&c, "Concat", IN(past, x), WITH(with_int(&c, "axis", 2)))
                     : compose(&c, "Pad", IN(x, compose_ints(&c, pads, 6)), WITHOUT);
  Tensor *y = compose(&c, "Conv", IN(all, w, input(n, 2)), WITH(with_int(&c, "group", channels)));
  if (swish) y = compose(&c, "Swish", IN(y), WITHOUT);
  if (output(n, 1) &&
      !compose_give(&c, 1,
                    compose(&c, "Slice",
                            IN(all, compose_ints(&c, &from, 1), compose_ints(&c, &end, 1),
                               compose_ints(&c, &axis, 1)),
                            WITHOUT)))
    return false;
  return compose_give(&c, 0, y);
}

/* ---- matrices ---- */

/* By elimination with the largest of each column as the pivot: a step takes a row and a column
   away. */
bool onnx_det(Node *n) {
  Tensor *v = input(n, 0);
  enum { MOST_ROWS = 64 };
  const int rank = v->shape.rank;
  int64_t rows;
  Axis batch;
  if (rank < 2 || !is_float(v) || !dim_same(v->shape.at[rank - 1], v->shape.at[rank - 2]) ||
      !dim_product(&v->shape, 0, rank - 2, &batch))
    return refuse(n, "shapes that do not fit");
  if (!dim_number(n, v->shape.at[rank - 1], &rows)) return false;
  if (rows > MOST_ROWS) return refuse(n, "a matrix of more than %d rows", MOST_ROWS);
  Shape s = v->shape;
  s.rank = rank - 2;
  const Shape flat = {.rank = 3, .at = {batch, {.n = rows}, {.n = rows}}},
              one = {.rank = 3, .at = {batch, {.n = 1}, {.n = 1}}};
  const char *a = let(n, reshaped(n, tensor_text(n, v), &flat)), *product = "";
  for (int64_t k = rows; k > 0; k--) {
    const char *at = let(n, reshaped(n, text(n, "argmax(abs(%s[:, :, 0]), axis = 1)", a), &one)),
               *list = along(n, k, 1, 3);
    const char *row = let(
                   n, text(n, "sum(where(%s == %s, %s, 0), axis = 1, keep = true)", list, at, a)),
               *pivot = let(n, text(n, "%s[:, :, 0:1]", row));
    product = let(n, text(n, "%s%swhere(%s == 0, %s, -%s)", product, *product ? " * " : "", at,
                          pivot, pivot));
    if (k == 1) break;
    /* the first row in the pivot's place */
    const char *rest = let(n, text(n, "where(%s == %s, %s[:, 0:1], %s)[:, 1:]", list, at, a, a));
    a = let(n, text(n, "%s[:, :, 1:] - %s[:, :, 0:1] / where(%s == 0, 1, %s) * %s[:, :, 1:]", rest,
                    rest, pivot, pivot, row));
  }
  return give(n, 0, v->type, &s, reshaped(n, product, &s));
}

/* Rows that a condition which is known chooses. */
bool onnx_compress(Node *n) {
  Tensor *v = input(n, 0), *condition = input(n, 1);
  const Number *yes = known_of(n->im, condition);
  uint64_t count;
  int axis = 0, rank = v->shape.rank;
  Shape s = v->shape;
  const char *t = tensor_text(n, v);
  if (!attr_of(n, "axis")) {
    rank = s.rank = 1;
    if (!dim_product(&v->shape, 0, v->shape.rank, &s.at[0])) return refuse(n, "several dimensions");
    t = reshaped(n, t, &s);
  } else if (!axis_from(n, attr_int(n, "axis", 0), rank, &axis)) {
    return false;
  }
  if (!yes) return compress_computed(n, t, &s, axis);
  if (!shape_count(&condition->shape, &count) || count > MOST_KNOWN || s.at[axis].symbol ||
      count > (uint64_t)s.at[axis].n)
    return refuse(n, "shapes that do not fit");
  int64_t *at = ARENA_ARRAY(n->im->a, int64_t, count + 1);
  int found = 0;
  for (uint64_t i = 0; i < count; i++)
    if (yes[i].i) at[found++] = (int64_t)i;
  if (!found) return refuse(n, "a tensor without elements");
  Compose c = {.n = n};
  s.at[axis].n = found;
  return give(n, 0, v->type, &s,
              gathered(n, t, rank, axis, tensor_text(n, compose_ints(&c, at, found)), 1));
}

/* ---- inverse trigonometric functions ---- */

/* atan of x: of 0 to tan(pi / 8) by a polynomial, of others by the atan of -1 / x or (x - 1) / (x +
   1). Within 2e-7 of it. Source: S. L. Moshier, Methods and Programs for Mathematical Functions,
   1989, and his library Cephes. */
static const char *atan_of(Node *n, const char *x) {
  const char *a = let(n, text(n, "abs(%s)", x));
  const char *r =
      let(n, text(n,
                  "where(%s > 2.414213562373095, -1 / max(%s, 1), where(%s > 0.4142135623730951, "
                  "(min(%s, 3) - 1) / (min(%s, 3) + 1), %s))",
                  a, a, a, a, a, a));
  const char *z = let(n, text(n, "%s * %s", r, r));
  const char *p =
      let(n, text(n,
                  "(((0.0805374449538 * %s - 0.138776856032) * %s + 0.199777106478) * %s - "
                  "0.333329491539) * %s * %s + %s",
                  z, z, z, z, r, r));
  return text(n,
              "sign(%s) * (where(%s > 2.414213562373095, 1.5707963267948966, where(%s > "
              "0.4142135623730951, "
              "0.7853981633974483, 0)) + %s)",
              x, a, a, p);
}

bool onnx_inverse_trigonometric(Node *n) {
  Tensor *v = input(n, 0);
  const char *x = tensor_text(n, v), *t;
  if (!is_float(v) || v->type == ELEM_F64) return refuse(n, "angles of f64");
  if (strcmp(n->op, "Atan") == 0)
    t = atan_of(n, x);
  else if (strcmp(n->op, "Asin") == 0)
    t = atan_of(n, let(n, text(n, "%s / sqrt((1 - %s) * (1 + %s))", x, x, x)));
  else
    t = text(n, "2 * (%s)", atan_of(n, let(n, text(n, "sqrt((1 - %s) / (1 + %s))", x, x))));
  return give(n, 0, v->type, &v->shape, t);
}
