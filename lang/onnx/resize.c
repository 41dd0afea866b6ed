/* Resize and Upsample: one axis after the other, by the indices of the nearest elements, or by a
   matrix of weights that is computed here. Along a bounded axis the run computes the places of
   elements, and their weights where they are no repeats.
   Source: https://onnx.ai/onnx/operators/onnx__Resize.html and its reference implementation. */
#include "lang/onnx/graph.h"

#include <math.h>

typedef struct Resampling {
  const char *place,
      *nearest; /* how places of the result map to places of the input, and are rounded */
  bool cubic, linear, antialias, exclude;
  double a; /* of the cubic kernel */
} Resampling;

typedef struct Line { /* of elements along an axis */
  int64_t from, to;
  double scale;
  Axis before, after; /* the same; the other two are of numbers */
  bool by_size;       /* the scale follows from both */
  double begin, end;  /* of the part that is resized, as shares of the input */
} Line;

static Line line_of(int64_t from, int64_t to, double scale) {
  return (Line){from, to, scale, {.n = from}, {.n = to}, false, 0, 1};
}

static bool is_bounded(const Line *l) { return l->before.symbol || l->after.symbol; }

/* Element x of the result as a place in the input; NaN: a mode that is not known. */
static double place_of(const Resampling *r, const Line *l, double x) {
  const char *m = r->place;
  double to = l->scale * (double)l->from, half = (x + 0.5) / l->scale - 0.5;
  if (strcmp(m, "half_pixel") == 0) return half;
  if (strcmp(m, "pytorch_half_pixel") == 0) return l->to > 1 ? half : 0;
  if (strcmp(m, "asymmetric") == 0) return x / l->scale;
  if (strcmp(m, "tf_half_pixel_for_nn") == 0) return (x + 0.5) / l->scale;
  if (strcmp(m, "tf_crop_and_resize") == 0) { /* one element is the middle of the part */
    const double last = (double)l->from - 1, part = (l->end - l->begin) * last;
    return l->begin * last + (l->to == 1 ? part / 2 : x * part / ((double)l->to - 1));
  }
  if (strcmp(m, "align_corners") == 0) return to == 1 ? 0 : x * (double)(l->from - 1) / (to - 1);
  if (strcmp(m, "half_pixel_symmetric") == 0)
    return (double)l->from / 2 * (1 - (double)l->to / to) + half;
  return NAN;
}

static double kernel(const Resampling *r, double x) {
  x = fabs(x);
  if (!r->cubic) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((r->a + 2) * x - (r->a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * r->a - 4 * r->a : 0;
}

static int64_t within(int64_t x, int64_t n) { return x < 0 ? 0 : x >= n ? n - 1 : x; }

static int64_t rounded(const Resampling *r, double x) {
  if (strcmp(r->nearest, "floor") == 0) return (int64_t)floor(x);
  if (strcmp(r->nearest, "ceil") == 0) return (int64_t)ceil(x);
  return strcmp(r->nearest, "round_prefer_ceil") == 0 ? (int64_t)floor(x + 0.5)
                                                      : (int64_t)ceil(x - 0.5);
}

/* The row of weights of one element of the result; their sum is 1. */
static void weigh(const Resampling *r, const Line *l, double x, Number *row) {
  double narrow = r->antialias && l->scale < 1 ? l->scale : 1, reach = (r->cubic ? 2 : 1) / narrow,
         sum = 0;
  for (int64_t j = (int64_t)ceil(x - reach); (double)j <= x + reach; j++) {
    double w = kernel(r, narrow * ((double)j - x));
    if (r->exclude && (j < 0 || j >= l->from)) continue;
    row[within(j, l->from)].f += w;
    sum += w;
  }
  for (int64_t j = 0; j < l->from; j++) row[j].f = (float)(row[j].f / sum);
}

static const char *along_axis(Node *n, const Resampling *r, const Line *l, const char *t, int rank,
                              int axis) {
  const Shape s = {.rank = r->linear ? 2 : 1, .at = {{.n = l->to}, {.n = l->from}}};
  Tensor *v = value_new(n->im, r->linear ? ELEM_F32 : ELEM_I64, &s);
  Number *x = ARENA_ARRAY(n->im->a, Number, l->to * (r->linear ? l->from : 1));
  for (int64_t i = 0; i < l->to; i++) {
    double at = place_of(r, l, (double)i);
    if (r->linear)
      weigh(r, l, at, x + i * l->from);
    else
      x[i].i = within(rounded(r, at), l->from);
  }
  v->known = x;
  v->wish = "resize";
  if (!r->linear) return gathered(n, t, rank, axis, tensor_text(n, v), 1);
  const char *from = "", *to = "";
  for (int i = 0; i < rank; i++) {
    from = text(n, "%s%c", from, 'a' + i);
    to = text(n, "%s%c", to, i == axis ? 'z' : 'a' + i);
  }
  const char *w = tensor_text(n, v);
  if (input(n, 0)->type != ELEM_F32) w = text(n, "%s(%s)", elem_of(input(n, 0)->type)->gc, w);
  return text(n, "einsum(\"%s,z%c->%s\", %s, %s)", from, 'a' + axis, to, t, w);
}

/* ---- along a bounded axis ---- */

/* Elements `n` times over. */
static const char *repeated(Node *n, const char *t, const Shape *s, int axis, int64_t times) {
  Shape apart = {.rank = s->rank + 1}, wide, whole = *s;
  for (int i = 0; i < s->rank; i++) apart.at[i + (i > axis)] = s->at[i];
  apart.at[axis + 1] = (Axis){.n = 1};
  wide = apart;
  wide.at[axis + 1].n = times;
  dim_times(s->at[axis], (Axis){.n = times}, &whole.at[axis]);
  return reshaped(n, text(n, "broadcast(%s, %s)", reshaped(n, t, &apart), shape_text(n->im, &wide)),
                  &whole);
}

/* So many times the elements, each the nearest of `times`; 0: others are. */
static int64_t repeats(const Resampling *r, const Line *l) {
  Axis times;
  const char *m = r->place;
  if (r->linear || !dim_over(l->after, l->before, &times) || times.symbol) return 0;
  if (!l->by_size && l->scale != (double)times.n) return 0;
  const bool middle = strcmp(m, "half_pixel") == 0 || strcmp(m, "pytorch_half_pixel") == 0 ||
                      strcmp(m, "half_pixel_symmetric") == 0,
             left = strcmp(m, "asymmetric") == 0 || strcmp(m, "tf_half_pixel_for_nn") == 0;
  return (middle && strncmp(r->nearest, "round_", 6) == 0) ||
                 (left && strcmp(r->nearest, "floor") == 0)
             ? times.n
             : 0;
}

/* place_of for each element of the result, f64[to]. */
static const char *places(Node *n, const Resampling *r, const Line *l) {
  const char *from = text(n, "(%s)", dim_text(n->im, l->before)),
             *to = text(n, "(%s)", dim_text(n->im, l->after)), *m = r->place,
             *by = number_text(n->im, ELEM_F64, (Number){.f = l->scale}), *whole = to;
  if (l->by_size)
    by = text(n, "(%s / %s)", to, from);
  else
    whole = text(n, "(%s * %s)", by, from);
  const char *x = let(n, text(n, "f64(iota(%s))", to)),
             *half = text(n, "(%s + 0.5) / %s - 0.5", x, by);
  if (strcmp(m, "asymmetric") == 0) return let(n, text(n, "%s / %s", x, by));
  if (strcmp(m, "tf_half_pixel_for_nn") == 0) return let(n, text(n, "(%s + 0.5) / %s", x, by));
  if (strcmp(m, "align_corners") == 0) /* one element is that of the place 0 */
    return let(n, text(n, "%s * (%s - 1) / max(%s - 1, 1)", x, from, whole));
  if (strcmp(m, "half_pixel_symmetric") == 0)
    half = text(n, "%s / 2 * (1 - %s / %s) + %s", from, to, whole, half);
  if (strcmp(m, "pytorch_half_pixel") == 0 && !dim_at_least(n->im, l->after, (Axis){.n = 2}))
    half = text(n, "where(%s > 1, %s, 0)", to, half);
  return let(n, half);
}

/* A tap of the cubic kernel at a distance, of those next to the place or of those beyond. */
static const char *cubic(Node *n, double a, const char *x, bool near) {
  if (near)
    return text(n, "((%s * %s - %s) * %s * %s + 1)", real(n, a + 2), x, real(n, a + 3), x, x);
  return text(n, "(((%s - 5) * %s + 8) * %s * %s - %s)", x, x, x, real(n, a), real(n, 4 * a));
}

static const char *rows_at(Node *n, const char *t, const Line *l, int rank, int axis,
                           const char *at) {
  const char *ids = let(n, text(n, "min(max(%s, 0), %s - 1)", at, dim_text(n->im, l->before)));
  return gathered(n, t, rank, axis, ids, 1);
}

static const char *along_bounded(Node *n, const Resampling *r, const Line *l, const char *t,
                                 const Shape *s, int axis) {
  const int64_t times = repeats(r, l);
  if (times) return repeated(n, t, s, axis, times);
  const char *x = places(n, r, l);
  if (!r->linear) {
    const char *round = strcmp(r->nearest, "floor") == 0               ? "floor(%s)"
                        : strcmp(r->nearest, "ceil") == 0              ? "ceil(%s)"
                        : strcmp(r->nearest, "round_prefer_ceil") == 0 ? "floor(%s + 0.5)"
                                                                       : "ceil(%s - 0.5)";
    const size_t head = strcspn(round, "%");
    return rows_at(n, t, l, s->rank, axis,
                   text(n, "i32(%.*s%s%s)", (int)head, round, x, round + head + 2));
  }
  const char *first = let(n, text(n, "floor(%s)", x)), *sum = "", *total = "",
             *dtype = elem_of(input(n, 0)->type)->gc;
  Shape line = {.rank = s->rank};
  for (int i = 0; i < s->rank; i++) line.at[i] = i == axis ? l->after : (Axis){.n = 1};
  for (int k = r->cubic ? -1 : 0; k < (r->cubic ? 3 : 2); k++) {
    const char *far = let(n, k < 1 ? text(n, "%s - %s - (%d)", x, first, k)
                                   : text(n, "%s + %d - %s", first, k, x)),
               *w = r->cubic ? cubic(n, r->a, far, k == 0 || k == 1) : text(n, "(1 - %s)", far),
               *at = let(n, text(n, "i32(%s) + (%d)", first, k));
    if (r->exclude)
      w = text(n, "where(%s >= 0 and %s < %s, %s, 0)", at, at, dim_text(n->im, l->before), w);
    w = let(n, w);
    total = *total ? text(n, "%s + %s", total, w) : w;
    w = reshaped(n, text(n, "%s(%s)", dtype, w), &line);
    w = let(n, text(n, "%s * %s", w, rows_at(n, t, l, s->rank, axis, at)));
    sum = *sum ? text(n, "%s + %s", sum, w) : w;
  }
  if (!r->exclude) return sum;
  return text(n, "(%s) / %s", sum, reshaped(n, text(n, "%s(%s)", dtype, total), &line));
}

/* The bounded size of a bounded axis, or of one that gets one; false after refusing. */
static bool bounded_line(Node *n, Line *l, double scale, const Axis *size) {
  const Axis d = l->before;
  l->scale = scale, l->by_size = size != NULL;
  if (size) {
    l->after = *size;
  } else {
    const double times = (double)d.n * scale;
    if (!(scale > 0) || !(times >= 1 && times <= INT32_MAX) || times != floor(times))
      return refuse(n, "a scale of %g along %s", scale, dim_text(n->im, d));
    l->after = (Axis){
        .n = (int64_t)times, .symbol = d.symbol, .more = (int64_t)floor((double)d.more * scale)};
  }
  return l->after.n > 0 || refuse(n, "a size of 0");
}

/* ---- */

static bool in_part(const Node *n) {
  return strcmp(attr_string(n, "coordinate_transformation_mode", ""), "tf_crop_and_resize") == 0;
}

/* x with another number where the place is none of the input. */
static const char *extrapolated(Node *n, const Resampling *r, const Line *l, const char *x,
                                int rank, int axis) {
  Shape s = {.rank = rank};
  for (int i = 0; i < rank; i++) s.at[i] = (Axis){.n = i == axis ? l->to : 1};
  Number *is = ARENA_ARRAY(n->im->a, Number, l->to);
  bool all = true;
  for (int64_t i = 0; i < l->to; i++) {
    const double at = place_of(r, l, (double)i);
    is[i].i = at >= 0 && at <= (double)l->from - 1;
    all &= is[i].i != 0;
  }
  if (all) return x;
  Tensor *v = value_new(n->im, ELEM_BOOL, &s);
  v->known = is, v->wish = "within";
  return let(n, text(n, "where(%s, %s, %s)", tensor_text(n, v), x,
                     real(n, attr_real(n, "extrapolation_value", 0))));
}

typedef struct Resizing { /* what the inputs and attributes ask for, each axis that is named */
  int64_t axes[2 * MOST_RANK];
  int count;
  const Number *scale; /* NULL: by size */
  Axis size[MOST_RANK];
  const Number *part; /* where it begins on each axis, then where it ends; NULL: all of it */
  double ratio;       /* of all sizes; NaN: each has its own */
} Resizing;

static bool named_axes(Node *n, Resizing *r, int rank) {
  r->count = rank;
  for (int i = 0; i < rank; i++) r->axes[i] = i;
  return !attr_of(n, "axes") || (attr_ints(n, "axes", r->axes, &r->count) && r->count <= rank) ||
         refuse(n, "too many axes");
}

static bool scales_or_sizes(Node *n, Resizing *r, int scales_in, int sizes_in) {
  Tensor *scales = input(n, scales_in);
  uint64_t size;
  int given = -1;
  if (scales && shape_count(&scales->shape, &size) && size) {
    if (!(r->scale = known_input(n, scales_in))) return false;
    return (size == (uint64_t)r->count && is_float(scales)) ||
           refuse(n, "scales of another number of axes");
  }
  if (known_dims(n, sizes_in, NULL, r->size, &given) && given == r->count) return true;
  return given >= 0 ? refuse(n, "sizes of another number of axes")
                    : refuse(n, "neither scales nor sizes");
}

static bool part_of_axes(Node *n, Resizing *r) {
  uint64_t size;
  if (!in_part(n)) return true;
  Tensor *roi = input(n, 1);
  if (!roi || !(r->part = known_input(n, 1))) return roi ? false : refuse(n, "no part");
  return (is_float(roi) && shape_count(&roi->shape, &size) && size == 2 * (uint64_t)r->count) ||
         refuse(n, "a part of another number of axes");
}

static bool kept_ratio(Node *n, Resizing *r, const Shape *s) {
  const char *policy = attr_string(n, "keep_aspect_ratio_policy", "stretch");
  r->ratio = NAN;
  for (int i = 0, axis; i < r->count && !r->scale && strcmp(policy, "stretch") != 0; i++) {
    if (!axis_from(n, r->axes[i], s->rank, &axis)) return false;
    if (r->size[i].symbol || s->at[axis].symbol)
      return refuse(n, "a bounded dimension whose ratio is kept");
    const double now = (double)r->size[i].n / (double)s->at[axis].n;
    r->ratio = isnan(r->ratio)                     ? now
               : strcmp(policy, "not_larger") == 0 ? fmin(r->ratio, now)
                                                   : fmax(r->ratio, now);
  }
  return true;
}

/* The line of the axis that is the i-th named one. */
static bool resized_line(Node *n, const Resizing *r, int i, Line *l) {
  const bool by_scale = r->scale != NULL;
  if (r->part) l->begin = r->part[i].f, l->end = r->part[r->count + i].f;
  if (r->part && l->before.symbol) return refuse(n, "a part along a bounded dimension");
  if (!r->part && (by_scale ? r->scale[i].f == 1 : dim_same(r->size[i], l->before))) return true;
  if (l->before.symbol || (!by_scale && r->size[i].symbol))
    return bounded_line(n, l, by_scale ? r->scale[i].f : 1, by_scale ? NULL : &r->size[i]);
  const int64_t d = l->from;
  const double sized = (double)r->size[i].n;
  l->scale = by_scale ? r->scale[i].f : isnan(r->ratio) ? sized / (double)d : r->ratio;
  const double to = by_scale          ? floor((double)d * l->scale * (l->end - l->begin))
                    : isnan(r->ratio) ? sized
                                      : nearbyint(r->ratio * (double)d);
  if (!(l->scale > 0) || !(to >= 1 && to * (double)d <= 1 << 26))
    return refuse(n, "a size of 0, or one that is too large");
  l->to = (int64_t)to, l->after.n = l->to;
  return true;
}

/* The line of each axis, by scales or by sizes. */
static bool lines(Node *n, Line *line, int scales_in, int sizes_in) {
  const Shape *s = &input(n, 0)->shape;
  Resizing r = {0};
  for (int i = 0; i < s->rank; i++)
    line[i] = (Line){s->at[i].n, s->at[i].n, 1, s->at[i], s->at[i], false, 0, 1};
  if (!named_axes(n, &r, s->rank) || !scales_or_sizes(n, &r, scales_in, sizes_in) ||
      !part_of_axes(n, &r) || !kept_ratio(n, &r, s))
    return false;
  for (int i = 0, axis; i < r.count; i++)
    if (!axis_from(n, r.axes[i], s->rank, &axis) || !resized_line(n, &r, i, &line[axis]))
      return false;
  return true;
}

bool onnx_resize(Node *n) {
  Tensor *v = input(n, 0);
  bool upsample = strcmp(n->op, "Upsample") == 0, old = upsample || n->version < 11;
  const char *mode = attr_string(n, "mode", "nearest");
  Resampling r = {
      .place = attr_string(n, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
      .nearest = attr_string(n, "nearest_mode", old ? "floor" : "round_prefer_floor"),
      .cubic = strcmp(mode, "cubic") == 0,
      .antialias = attr_int(n, "antialias", 0) != 0,
      .exclude = attr_int(n, "exclude_outside", 0) != 0,
      .a = attr_real(n, "cubic_coeff_a", -0.75)};
  Line line[MOST_RANK];
  Shape s = v->shape;
  r.linear = r.cubic || strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0;
  if (isnan(place_of(&r, &(Line){.from = 1, .to = 1, .scale = 1}, 0)))
    return refuse(n, "the mode %s", r.place);
  if (r.linear && !is_float(v)) return refuse(n, "means of integers");
  if (upsample && n->version < 9) {
    const Onnx__AttributeProto *a = attr_of(n, "scales");
    if (!a || a->n_floats != (size_t)s.rank) return refuse(n, "scales of another number of axes");
    for (int i = 0; i < s.rank; i++) {
      double to = (double)s.at[i].n * (double)a->floats[i];
      line[i] = (Line){s.at[i].n, s.at[i].n, 1, s.at[i], s.at[i], false, 0, 1};
      if (a->floats[i] == 1) continue;
      if (s.at[i].symbol) {
        if (!bounded_line(n, &line[i], (double)a->floats[i], NULL)) return false;
        continue;
      }
      if (!(to >= 1 && to <= 1 << 20)) return refuse(n, "a size of 0, or one that is too large");
      line[i] = line_of(s.at[i].n, (int64_t)to, (double)a->floats[i]);
    }
  } else if (!lines(n, line, old ? 1 : 2, old ? 99 : 3)) {
    return false;
  }
  const char *t = tensor_text(n, v);
  for (int i = 0; i < s.rank; i++) {
    const Line *l = &line[i];
    if (dim_same(l->before, l->after) && l->scale == 1 && l->begin == 0 && l->end == 1) continue;
    if (is_bounded(l) && r.linear && r.antialias && (l->by_size || l->scale < 1))
      return refuse(n, "antialiasing along a bounded dimension");
    t = let(n,
            is_bounded(l) ? along_bounded(n, &r, l, t, &s, i) : along_axis(n, &r, l, t, s.rank, i));
    s.at[i] = l->after;
  }
  for (int i = 0; i < s.rank; i++)
    if (in_part(n)) t = extrapolated(n, &r, &line[i], t, s.rank, i);
  return give(n, 0, v->type, &s, t);
}
