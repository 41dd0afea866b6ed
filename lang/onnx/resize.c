/* Resize and Upsample: one axis after the other, by the indices of the nearest elements, or by a
   matrix of weights that is computed here.
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
} Line;

/* Element x of the result as a place in the input; NaN: a mode that is not known. */
static double place_of(const Resampling *r, const Line *l, double x) {
  const char *m = r->place;
  double to = l->scale * (double)l->from, half = (x + 0.5) / l->scale - 0.5;
  if (strcmp(m, "half_pixel") == 0) return half;
  if (strcmp(m, "pytorch_half_pixel") == 0) return l->to > 1 ? half : 0;
  if (strcmp(m, "asymmetric") == 0) return x / l->scale;
  if (strcmp(m, "tf_half_pixel_for_nn") == 0) return (x + 0.5) / l->scale;
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

/* The line of each axis, by scales or by sizes. */
static bool lines(Node *n, Line *line, int scales_in, int sizes_in) {
  const Shape *s = &input(n, 0)->shape;
  int64_t axes[2 * MOST_RANK], sizes[MOST_RANK];
  int count = s->rank, axis, given = -1;
  const Number *x = NULL;
  uint64_t size;
  for (int i = 0; i < s->rank; i++) line[i] = (Line){s->at[i].n, s->at[i].n, 1};
  if (attr_of(n, "axes") && (!attr_ints(n, "axes", axes, &count) || count > s->rank))
    return refuse(n, "too many axes");
  if (!attr_of(n, "axes"))
    for (int i = 0; i < count; i++) axes[i] = i;
  Tensor *scales = input(n, scales_in);
  bool by_scale = scales && shape_count(&scales->shape, &size) && size;
  if (by_scale) {
    if (!(x = known_input(n, scales_in))) return false;
    if (size != (uint64_t)count || !is_float(scales))
      return refuse(n, "scales of another number of axes");
  } else if (!known_ints(n, sizes_in, NULL, sizes, MOST_RANK, &given) || given != count) {
    return given >= 0 ? refuse(n, "sizes of another number of axes")
                      : refuse(n, "neither scales nor sizes");
  }
  const char *policy = attr_string(n, "keep_aspect_ratio_policy", "stretch");
  double ratio = NAN;
  for (int i = 0; i < count && !by_scale && strcmp(policy, "stretch") != 0; i++) {
    if (!axis_from(n, axes[i], s->rank, &axis)) return false;
    double now = (double)sizes[i] / (double)s->at[axis].n;
    ratio = isnan(ratio)                        ? now
            : strcmp(policy, "not_larger") == 0 ? fmin(ratio, now)
                                                : fmax(ratio, now);
  }
  for (int i = 0; i < count; i++) {
    if (!axis_from(n, axes[i], s->rank, &axis)) return false;
    Line *l = &line[axis];
    if (by_scale && x[i].f == 1) continue;
    if (!by_scale && !s->at[axis].symbol && sizes[i] == l->from) continue;
    int64_t d;
    if (!dim_number(n, s->at[axis], &d)) return false;
    l->scale = by_scale ? x[i].f : isnan(ratio) ? (double)sizes[i] / (double)d : ratio;
    double to = by_scale       ? floor((double)d * l->scale)
                : isnan(ratio) ? (double)sizes[i]
                               : nearbyint(ratio * (double)d);
    if (!(l->scale > 0) || !(to >= 1 && to * (double)d <= 1 << 26))
      return refuse(n, "a size of 0, or one that is too large");
    l->to = (int64_t)to;
  }
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
  if (strcmp(r.place, "tf_crop_and_resize") == 0)
    return refuse(n, "a part of the image that is resized");
  if (isnan(place_of(&r, &(Line){1, 1, 1}, 0))) return refuse(n, "the mode %s", r.place);
  if (r.linear && !is_float(v)) return refuse(n, "means of integers");
  if (upsample && n->version < 9) {
    const Onnx__AttributeProto *a = attr_of(n, "scales");
    if (!a || a->n_floats != (size_t)s.rank) return refuse(n, "scales of another number of axes");
    for (int i = 0; i < s.rank; i++) {
      double to = (double)s.at[i].n * (double)a->floats[i];
      if (!(to >= 1 && to <= 1 << 20)) return refuse(n, "a size of 0, or one that is too large");
      line[i] = (Line){s.at[i].n, (int64_t)to, (double)a->floats[i]};
    }
  } else if (!lines(n, line, old ? 1 : 2, old ? 99 : 3)) {
    return false;
  }
  const char *t = tensor_text(n, v);
  for (int i = 0; i < s.rank; i++) {
    if (line[i].to == line[i].from && line[i].scale == 1) continue;
    if (s.at[i].symbol) return refuse(n, "a bounded dimension that is resized");
    s.at[i].n = line[i].to;
    t = let(n, along_axis(n, &r, &line[i], t, s.rank, i));
  }
  return give(n, 0, v->type, &s, t);
}
