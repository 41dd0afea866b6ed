/* Operators that repeat, pad, fill, and trade depth for space. */
#include "lang/onnx/graph.h"

bool onnx_tile(Node *n) {
  Tensor *v = input(n, 0);
  int64_t times[2 * MOST_RANK], dims[MOST_RANK];
  int count;
  Shape s = v->shape;
  const char *t = tensor_text(n, v);
  if (!known_ints(n, 1, NULL, times, MOST_RANK, &count)) return false;
  if (count != s.rank || !shape_numbers(n, v, dims))
    return refuse(n, "a number of repeats for each axis is needed");
  /* [a, 1, b, 1] to [a, x, b, y] to [a * x, b * y], the repeats outside of each axis */
  Shape apart = {.rank = 0}, wide = {.rank = 0};
  if (2 * s.rank > MOST_RANK) return refuse(n, "more than %d axes", MOST_RANK / 2);
  for (int i = 0; i < s.rank; i++) {
    if (times[i] < 1) return refuse(n, "a tensor without elements");
    apart.at[apart.rank++] = (Axis){.n = 1}, apart.at[apart.rank++] = s.at[i];
    wide.at[wide.rank++] = (Axis){.n = times[i]}, wide.at[wide.rank++] = s.at[i];
    if (__builtin_mul_overflow(s.at[i].n, times[i], &s.at[i].n))
      return refuse(n, "a tensor that is too large");
  }
  if (shape_same(&s, &v->shape)) return give_same(n, 0, v);
  return give(
      n, 0, v->type, &s,
      reshaped(n, text(n, "broadcast(%s, %s)", reshaped(n, t, &apart), shape_text(n->im, &wide)),
               &s));
}

/* The place in an axis of each element of the padded one, as the run has it. */
static const char *places_of_run(Node *n, const char *mode, Axis d, Axis size, int64_t lo) {
  const char *last = text(n, "(%s - 1)", dim_text(n->im, d)),
             *at = let(n, text(n, "iota(%s) - (%lld)", dim_text(n->im, size), (long long)lo));
  if (strcmp(mode, "edge") == 0) return let(n, text(n, "min(max(%s, 0), %s)", at, last));
  if (strcmp(mode, "wrap") == 0) return let(n, text(n, "%s %% (%s + 1)", at, last));
  const char *period = text(n, "max(2 * %s, 1)", last);
  at = let(n, text(n, "%s %% %s", at, period));
  return let(n, text(n, "min(%s, %s - %s)", at, period, at));
}

/* Padding with what is in the tensor, by index: the edge, what is mirrored at it, or what stands at
   the other end. */
static bool pad_by_places(Node *n, const char *mode, const int64_t *lo, const int64_t *hi) {
  Tensor *v = input(n, 0);
  Shape s = v->shape;
  const char *t = tensor_text(n, v);
  for (int axis = 0; axis < s.rank; axis++) {
    int64_t d = s.at[axis].n, size = d + lo[axis] + hi[axis];
    if (!lo[axis] && !hi[axis]) continue;
    if (s.at[axis].symbol) {
      const Axis from = s.at[axis];
      if (!dim_add(from, (Axis){.n = lo[axis] + hi[axis]}, 1, &s.at[axis]))
        return refuse(n, "padding of this size");
      t = let(n,
              gathered(n, t, s.rank, axis, places_of_run(n, mode, from, s.at[axis], lo[axis]), 1));
      continue;
    }
    if (size < 1 || size > MOST_KNOWN)
      return refuse(n, "padding of an axis of %lld elements", (long long)size);
    s.at[axis].n = size;
    Shape one = {.rank = 1, .at = {{.n = size}}};
    Tensor *ids = value_new(n->im, ELEM_I64, &one);
    Number *x = ARENA_ARRAY(n->im->a, Number, size);
    for (int64_t i = 0; i < size; i++) {
      int64_t at = i - lo[axis], period = 2 * (d - 1);
      if (strcmp(mode, "edge") == 0)
        at = at < 0 ? 0 : at >= d ? d - 1 : at;
      else if (strcmp(mode, "wrap") == 0)
        at = ((at % d) + d) % d;
      else
        at = d == 1 ? 0 : (at = ((at % period) + period) % period, at < d ? at : period - at);
      x[i].i = at;
    }
    ids->known = x;
    ids->wish = "padding";
    t = let(n, gathered(n, t, s.rank, axis, tensor_text(n, ids), 1));
  }
  return give(n, 0, v->type, &s, t);
}

bool onnx_pad(Node *n) {
  Tensor *v = input(n, 0), *value = input(n, 2);
  int64_t pads[4 * MOST_RANK], axes[2 * MOST_RANK], lo[MOST_RANK] = {0}, hi[MOST_RANK] = {0};
  int count, naxes = -1, axis, rank = v->shape.rank;
  const char *mode = attr_string(n, "mode", "constant"), *cut = "";
  bool cuts = false;
  if (!known_ints(n, 1, n->version < 11 ? "pads" : NULL, pads, 2 * MOST_RANK, &count) ||
      (input(n, 3) && !known_ints(n, 3, NULL, axes, MOST_RANK, &naxes)))
    return false;
  if (naxes < 0)
    for (naxes = 0; naxes < rank; naxes++) axes[naxes] = naxes;
  if (count != 2 * naxes) return refuse(n, "pads of another number of axes");
  Shape s = v->shape;
  for (int i = 0; i < naxes; i++) {
    if (!axis_from(n, axes[i], rank, &axis)) return false;
    lo[axis] = pads[i], hi[axis] = pads[i + naxes];
    if (!lo[axis] && !hi[axis]) continue;
    const Axis d = s.at[axis];
    const int64_t least = d.symbol ? d.n + d.more : d.n; /* in a run */
    if (lo[axis] < -least || hi[axis] < -least || lo[axis] > INT32_MAX || hi[axis] > INT32_MAX)
      return refuse(n, "pads that are too large");
  }
  if (strcmp(mode, "constant") != 0) return pad_by_places(n, mode, lo, hi);
  for (int i = 0; i < rank; i++) {
    bool some = lo[i] < 0 || hi[i] < 0;
    cuts |= some;
    const long long first = lo[i] < 0 ? -lo[i] : 0;
    const char *part =
        hi[i] < 0 ? text(n, "%lld:-%lld", first, (long long)-hi[i]) : text(n, "%lld:", first);
    cut = text(n, "%s%s%s", cut, i ? ", " : "", some ? part : ":");
    if (!dim_add(s.at[i], (Axis){.n = lo[i] + hi[i]}, 1, &s.at[i]))
      return refuse(n, "pads that are too large");
    if (lo[i] < 0) lo[i] = 0;
    if (hi[i] < 0) hi[i] = 0;
  }
  Number fill = {.f = n->version < 11 ? attr_real(n, "value", 0) : 0};
  if (value && !is_one_number(n->im, value, &fill))
    return known_input(n, 2) != NULL && refuse(n, "several values");
  const char *t = tensor_text(n, v);
  if (cuts) t = text(n, "%s[%s]", t, cut);
  return give(n, 0, v->type, &s,
              text(n, "pad(%s, %s, %s, %s)", t, ints_text(n, lo, rank), ints_text(n, hi, rank),
                   number_text(n->im, v->type, fill)));
}

bool onnx_depth_and_space(Node *n) {
  Tensor *v = input(n, 0);
  const int64_t b = attr_int(n, "blocksize", 1);
  int64_t deep_c;
  if (v->shape.rank != 4 || b < 1 || b > INT16_MAX) return refuse(n, "an input that is no images");
  if (!dim_number(n, v->shape.at[1], &deep_c)) return false;
  const bool deep = strcmp(n->op, "DepthToSpace") == 0,
             crd = strcmp(attr_string(n, "mode", "DCR"), "CRD") == 0;
  const Axis by = {.n = b};
  Axis h = v->shape.at[2], w = v->shape.at[3], c = {.n = deep ? deep_c / (b * b) : deep_c};
  bool fits = !deep || deep_c % (b * b) == 0;
  if (!deep) fits = dim_over(h, by, &h) && dim_over(w, by, &w);
  if (!fits) return refuse(n, "blocks that do not divide its input");
  Shape six = {.rank = 6, .at = {v->shape.at[0]}}, s = {.rank = 4, .at = {v->shape.at[0]}};
  const Axis apart[3][5] = {{by, by, c, h, w}, {c, by, by, h, w}, {c, h, by, w, by}};
  for (int i = 0; i < 5; i++) six.at[i + 1] = apart[deep ? crd : 2][i];
  static const char *const perms[] = {"[0, 3, 4, 1, 5, 2]", "[0, 1, 4, 2, 5, 3]",
                                      "[0, 3, 5, 1, 2, 4]", "[0, 1, 3, 5, 2, 4]"};
  s.at[1] = c, s.at[2] = h, s.at[3] = w;
  if (deep ? !dim_times(h, by, &s.at[2]) || !dim_times(w, by, &s.at[3])
           : !dim_times(c, (Axis){.n = b * b}, &s.at[1]))
    return refuse(n, "images that are too large");
  const char *t = text(n, "transpose(%s, %s)", reshaped(n, tensor_text(n, v), &six),
                       perms[deep ? crd : 2 + crd]);
  return give(n, 0, v->type, &s, reshaped(n, t, &s));
}

bool onnx_trilu(Node *n) {
  Tensor *v = input(n, 0);
  int64_t k = 0;
  int rank = v->shape.rank;
  if (rank < 2) return refuse(n, "an input that is no matrices");
  if (input(n, 1) && !known_int(n, 1, &k)) return false;
  if (k > INT32_MAX) k = INT32_MAX;
  if (k < INT32_MIN) k = INT32_MIN;
  const char *keep =
      text(n, "%s %s %s + (%lld)", along_dim(n, v->shape.at[rank - 1], 1, 2),
           attr_int(n, "upper", 1) ? ">=" : "<=", along_dim(n, v->shape.at[rank - 2], 0, 2),
           (long long)k);
  return give(
      n, 0, v->type, &v->shape,
      text(n, "where(%s, %s, %s)", keep, tensor_text(n, v), v->type == ELEM_BOOL ? "false" : "0"));
}

bool onnx_eye_like(Node *n) {
  Tensor *v = input(n, 0);
  int64_t d[MOST_RANK];
  int type = (int)attr_int(n, "dtype", v->type);
  if (v->shape.rank != 2 || !elem_of(type)->gc) return refuse(n, "an input that is no matrix");
  if (!shape_numbers(n, v, d)) return false;
  return give(n, 0, type, &v->shape,
              text(n, "%s(%s == %s + (%lld))", elem_of(type)->gc, along(n, d[1], 1, 2),
                   along(n, d[0], 0, 2), (long long)attr_int(n, "k", 0)));
}

/* Large ones, and such of bounded dimensions: small ones are folded. */
bool onnx_constant_of_shape(Node *n) {
  const Onnx__AttributeProto *a = attr_of(n, "value");
  Shape s, one;
  Number x = {0};
  int type = ELEM_F32;
  const char *why = NULL;
  if (!known_shape(n, 0, &s)) return false;
  if (a && a->t) {
    const Number *at = tensor_numbers(n->im, a->t, &why);
    if (!at || !tensor_type(n->im, a->t, &type, &one, &why)) return refuse(n, "%s", why);
    x = at[0];
  }
  return give(n, 0, type, &s,
              text(n, "full(%s, %s, dtype = %s)", shape_text(n->im, &s),
                   number_text(n->im, type, x), elem_of(type)->gc));
}

/* A start that is known when gc runs, or not; the number of elements is, or rows have it. */
bool onnx_range(Node *n) {
  Tensor *from = input(n, 0), *to = input(n, 1);
  Number zero, one;
  if (to->sizes && is_one_number(n->im, from, &zero) && !zero.i && !zero.symbol &&
      is_one_number(n->im, input(n, 2), &one) && one.i == 1 && !one.symbol) {
    const Shape rows = {.rank = 1, .at = {axis_of_number(to->sizes[0])}};
    return give(n, 0, from->type, &rows,
                text(n, "%s(iota(%lld))", elem_of(from->type)->gc, (long long)rows.at[0].n));
  }
  const Number *a = known_of(n->im, from), *b = known_input(n, 1),
               *d = b ? known_input(n, 2) : NULL;
  if (!d) return false;
  if (!a) return known_input(n, 0) != NULL;
  const Axis first = a ? axis_of_number(*a) : (Axis){.n = 0};
  Shape s = {.rank = 1};
  if (is_float(from) || d->i != 1 || d->symbol ||
      !dim_add(axis_of_number(*b), first, -1, &s.at[0]) || !s.at[0].symbol)
    return refuse(n, "a number of elements that is not known when gc compiles");
  const char *t = text(n, "%s(iota(%s))", elem_of(from->type)->gc, dim_text(n->im, s.at[0]));
  const bool ranges = dim_same(first, (Axis){.n = 0});
  if (!ranges) t = text(n, "%s + (%s)", t, dim_text(n->im, first));
  if (output(n, 0)) n->out[0]->ranges = ranges;
  return give(n, 0, from->type, &s, t);
}
