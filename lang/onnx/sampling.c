/* Images read between their pixels: GridSample, AffineGrid, RoiAlign, DeformConv. Contract: images
   [batch, channels, …] become rows [batch, pixels, channels], one of which a place names; what lies
   beside the image has a weight of 0, or is moved into it. Sources: the formulas of
   https://onnx.ai/onnx/operators/onnx__GridSample.html, onnx__RoiAlign.html, onnx__DeformConv.html.
 */
#include "lang/onnx/graph.h"

enum { MOST_AXES = 3, MOST_TAPS = 4 };

typedef enum Beside { ZEROS, BORDER, REFLECTION } Beside;

typedef struct Images {
  Node *n;
  const char *rows; /* [batch, pixels, channels] */
  int axes;
  Axis size[MOST_AXES];
  const char *dtype;
  Beside beside;
  bool corners; /* the outer pixels' centres are the ends of the image, not their edges */
} Images;

/* A pixel along one axis that a place reads, i32, and its weight; "": 1. */
typedef struct Tap {
  const char *at, *weight;
} Tap;
typedef struct Taps { /* of one axis */
  Tap at[MOST_TAPS];
  int n;
} Taps;

static const char *size_text(const Images *g, int axis) {
  return text(g->n, "(%s)", dim_text(g->n->im, g->size[axis]));
}

static bool images_of(Node *n, Tensor *v, int64_t parts, Images *g) {
  const Shape *s = &v->shape;
  Shape rows = {.rank = 3, .at = {s->at[0], s->at[1]}};
  if (s->rank < 3 || s->rank > 2 + MOST_AXES || !is_float(v))
    return refuse(n, "an input that is no images");
  if (parts > 1 && (s->at[1].symbol || s->at[1].n % parts ||
                    !dim_times(s->at[0], (Axis){.n = parts}, &rows.at[0])))
    return refuse(n, "groups that do not divide the channels");
  if (parts > 1) rows.at[1].n /= parts;
  if (!dim_product(s, 2, s->rank, &rows.at[2])) rows.at[2] = (Axis){.n = -1};
  *g = (Images){.n = n, .axes = s->rank - 2, .dtype = elem_of(v->type)->gc};
  for (int i = 0; i < g->axes; i++) g->size[i] = s->at[i + 2];
  g->rows = let(n, text(n, "transpose(%s, [0, 2, 1])", reshaped(n, tensor_text(n, v), &rows)));
  return true;
}

/* A place reflected at both ends of an axis. */
static const char *reflected(const Images *g, int axis, const char *at) {
  Node *n = g->n;
  const char *size = size_text(g, axis), *low = g->corners ? "0" : "-0.5",
             *period = text(n, g->corners ? "max(2 * %s - 2, 1)" : "(2 * %s)", size);
  const char *u = let(n, text(n, "(%s - (%s)) %% f32(%s)", at, low, period));
  return let(n, text(n, "%s + min(%s, %s - %s)", low, u, period, u));
}

/* The taps at places: all in the image, of those beside it the weight is 0. */
static Tap tap(const Images *g, int axis, const char *at, const char *weight) {
  Node *n = g->n;
  const char *last = text(n, "%s - 1", size_text(g, axis));
  at = let(n, g->beside == REFLECTION ? reflected(g, axis, at) : at);
  if (g->beside == ZEROS) {
    const char *inside = text(n, "%s >= 0 and %s <= %s", at, at, last);
    weight = *weight ? text(n, "where(%s, %s, 0)", inside, weight) : text(n, "f32(%s)", inside);
  }
  return (Tap){let(n, text(n, "i32(min(max(%s, 0), %s))", at, last)),
               *weight ? let(n, weight) : ""};
}

static Taps linear_taps(const Images *g, int axis, const char *at) {
  Node *n = g->n;
  const char *first = let(n, text(n, "floor(%s)", at));
  const char *far = let(n, text(n, "%s - %s", at, first));
  return (Taps){
      {tap(g, axis, first, text(n, "(1 - %s)", far)), tap(g, axis, text(n, "%s + 1", first), far)},
      2};
}

static Taps cubic_taps(const Images *g, int axis, const char *at) {
  Node *n = g->n;
  const char *first = let(n, text(n, "floor(%s)", at)), *far;
  Taps t = {.n = 4};
  for (int k = 0; k < 4; k++) {
    far = let(n, text(n, "abs(%s - %s - (%d))", at, first, k - 1));
    const char *w = k == 1 || k == 2
                        ? text(n, "((1.25 * %s - 2.25) * %s * %s + 1)", far, far, far)
                        : text(n, "(((%s - 5) * %s + 8) * %s * -0.75 + 3)", far, far, far);
    t.at[k] = tap(g, axis, text(n, "%s + (%d)", first, k - 1), w);
  }
  return t;
}

/* Each choice of one tap along each axis: the pixels' rows and the weights' product, of shape
   [batch, places] both; "": 1. */
typedef struct Pixels {
  const char *row, *weight;
} Pixels;

static int choices(const Images *g, const Taps *t) {
  int n = 1;
  for (int i = 0; i < g->axes; i++) n *= t[i].n;
  return n;
}

static Pixels choice(const Images *g, const Taps *t, int which) {
  Node *n = g->n;
  Pixels p = {"", ""};
  for (int i = 0; i < g->axes; i++) {
    int step = 1;
    for (int k = i + 1; k < g->axes; k++) step *= t[k].n;
    const Tap *one = &t[i].at[which / step % t[i].n];
    p.row = *p.row ? text(n, "(%s) * %s + %s", p.row, size_text(g, i), one->at) : one->at;
    if (*one->weight)
      p.weight = *p.weight ? text(n, "%s * %s", p.weight, one->weight) : one->weight;
  }
  return p;
}

/* The weighted sum of the pixels at places, [batch, places, channels]. */
static const char *sampled(const Images *g, const Taps *t, Axis batch, Axis places) {
  Node *n = g->n;
  const char *sum = "";
  const Shape column = {.rank = 3, .at = {batch, places, {.n = 1}}};
  for (int i = 0; i < choices(g, t); i++) {
    const Pixels p = choice(g, t, i);
    const char *x = text(n, "gather(%s, %s, batch = 1)", g->rows, let(n, p.row));
    if (*p.weight)
      x = text(n, "%s * %s", x, reshaped(n, text(n, "%s(%s)", g->dtype, p.weight), &column));
    x = let(n, x);
    sum = *sum ? text(n, "%s + %s", sum, x) : x;
  }
  return let(n, sum);
}

/* ---- GridSample ---- */

bool onnx_grid_sample(Node *n) {
  Tensor *v = input(n, 0), *grid = input(n, 1);
  const char *mode = attr_string(n, "mode", "linear"),
             *beside = attr_string(n, "padding_mode", "zeros");
  const bool cubic = strstr(mode, "cubic") != NULL, nearest = strcmp(mode, "nearest") == 0;
  Images g;
  Taps taps[MOST_AXES];
  Axis places;
  if (!images_of(n, v, 1, &g)) return false;
  g.corners = attr_int(n, "align_corners", 0) != 0;
  g.beside = strcmp(beside, "border") == 0       ? BORDER
             : strcmp(beside, "reflection") == 0 ? REFLECTION
                                                 : ZEROS;
  const Shape *of = &grid->shape;
  if (of->rank != v->shape.rank || !is_float(grid) || !dim_same(of->at[0], v->shape.at[0]) ||
      !dim_same(of->at[of->rank - 1], (Axis){.n = g.axes}))
    return refuse(n, "shapes that do not fit");
  if (!dim_product(of, 1, of->rank - 1, &places)) places = (Axis){.n = -1};
  const Shape list = {.rank = 3, .at = {of->at[0], places, {.n = g.axes}}};
  const char *at = let(n, reshaped(n, tensor_text(n, grid), &list));
  for (int i = 0; i < g.axes; i++) {
    const char *size = size_text(&g, i),
               *x = let(n, text(n, "f32(%s[:, :, %d])", at, g.axes - 1 - i));
    x = let(n, g.corners ? text(n, "(%s + 1) / 2 * (%s - 1)", x, size)
                         : text(n, "((%s + 1) * %s - 1) / 2", x, size));
    if (nearest) x = let(n, text(n, "round(%s)", x));
    if (g.beside == REFLECTION) x = reflected(&g, i, x);
    taps[i] = nearest ? (Taps){{tap(&g, i, x, "")}, 1}
              : cubic ? cubic_taps(&g, i, x)
                      : linear_taps(&g, i, x);
  }
  Shape s = *of;
  s.at[1] = v->shape.at[1];
  for (int i = 0; i < g.axes; i++) s.at[i + 2] = of->at[i + 1];
  const char *t = text(n, "transpose(%s, [0, 2, 1])", sampled(&g, taps, of->at[0], places));
  return give(n, 0, v->type, &s, reshaped(n, t, &s));
}

/* Places of an image that a matrix [2, 3] turns and moves, or of one with three axes. */
bool onnx_affine_grid(Node *n) {
  Tensor *v = input(n, 0);
  const bool corners = attr_int(n, "align_corners", 0) != 0;
  Axis size[MOST_RANK];
  int count;
  if (!known_dims(n, 1, NULL, size, &count)) return false;
  const int axes = count - 2;
  if (axes < 2 || axes > MOST_AXES || v->shape.rank != 3 || !is_float(v) ||
      !dim_same(v->shape.at[1], (Axis){.n = axes}) ||
      !dim_same(v->shape.at[2], (Axis){.n = axes + 1}))
    return refuse(n, "shapes that do not fit");
  Shape s = {.rank = axes + 2, .at = {v->shape.at[0]}};
  const char *place[MOST_AXES], *dtype = elem_of(v->type)->gc, *all = "";
  for (int i = 0; i < axes; i++) s.at[i + 1] = size[i + 2];
  for (int i = 0; i < axes; i++) {
    const char *x = text(n, "%s(%s)", dtype, along_dim(n, s.at[i + 1], i + 1, axes + 1)),
               *d = dim_text(n->im, s.at[i + 1]);
    place[axes - 1 - i] = let(n, corners ? text(n, "2 * %s / max(%s - 1, 1) - 1", x, d)
                                         : text(n, "(2 * %s + 1) / (%s) - 1", x, d));
  }
  const Shape one = {.rank = axes + 1, .at = {v->shape.at[0], {.n = 1}, {.n = 1}, {.n = 1}}};
  Shape whole = s;
  whole.rank--;
  for (int i = 0; i < axes; i++) {
    const char *sum = "";
    for (int k = 0; k <= axes; k++) {
      const char *w = reshaped(n, text(n, "%s[:, %d, %d]", tensor_text(n, v), i, k), &one);
      sum = k == axes ? text(n, "%s + %s", sum, w)
                      : text(n, "%s%s%s * %s", sum, k ? " + " : "", w, place[k]);
    }
    sum = let(n, text(n, "broadcast(%s, %s)", sum, shape_text(n->im, &whole)));
    all = text(n, "%s%s%s", all, i ? ", " : "", sum);
  }
  s.at[axes + 1] = (Axis){.n = axes};
  return give(n, 0, v->type, &s, text(n, "stack([%s], axis = %d)", all, axes + 1));
}

/* ---- RoiAlign ---- */

/* Along an axis: the places of `bins * ratio` samples of each box, at its corner 0 or 1 of `boxes`.
   Taps are [boxes, samples]. */
static Taps box_taps(const Images *g, const char *boxes, int axis, int64_t bins, int64_t ratio) {
  Node *n = g->n;
  const bool half = strcmp(attr_string(n, "coordinate_transformation_mode",
                                       n->version < 16 ? "output_half_pixel" : "half_pixel"),
                           "half_pixel") == 0;
  const char *scale = real(n, attr_real(n, "spatial_scale", 1)), *minus = half ? " - 0.5" : "";
  const char *from =
                 let(n, text(n, "f32(%s[:, %d:%d]) * %s%s", boxes, axis, axis + 1, scale, minus)),
             *to = let(
                 n, text(n, "f32(%s[:, %d:%d]) * %s%s", boxes, axis + 2, axis + 3, scale, minus));
  const char *size = text(n, half ? "(%s - %s)" : "max(%s - %s, 1)", to, from);
  const char *bin = let(n, text(n, "%s / %lld", size, (long long)bins));
  const char *k = along(n, bins * ratio, 1, 2), *d = size_text(g, 1 - axis);
  const char *at =
      let(n, text(n, "%s + f32(%s // %lld) * %s + (f32(%s %% %lld) + 0.5) * %s / %lld", from, k,
                  (long long)ratio, bin, k, (long long)ratio, bin, (long long)ratio));
  const char *inside = let(n, text(n, "f32(%s >= -1 and %s <= %s)", at, at, d));
  at = let(n, text(n, "min(max(%s, 0), %s - 1)", at, d));
  Taps t = linear_taps(g, 1 - axis, at);
  for (int i = 0; i < t.n; i++) t.at[i].weight = let(n, text(n, "%s * %s", t.at[i].weight, inside));
  return t;
}

bool onnx_roi_align(Node *n) {
  Tensor *v = input(n, 0), *boxes = input(n, 1), *of = input(n, 2);
  const int64_t high = attr_int(n, "output_height", 1), wide = attr_int(n, "output_width", 1),
                ratio = attr_int(n, "sampling_ratio", 0);
  const bool most = strcmp(attr_string(n, "mode", "avg"), "max") == 0;
  enum { MOST_SAMPLES = 1 << 12 };
  Images g;
  Axis pixels;
  if (!images_of(n, v, 1, &g)) return false;
  if (g.axes != 2 || boxes->shape.rank != 2 || !is_float(boxes) || of->shape.rank != 1 ||
      !dim_same(boxes->shape.at[0], of->shape.at[0]) ||
      !dim_same(boxes->shape.at[1], (Axis){.n = 4}))
    return refuse(n, "shapes that do not fit");
  if (ratio == 0) return refuse(n, "a number of samples that depends on the boxes");
  if (high < 1 || wide < 1 || ratio < 1 || high > MOST_SAMPLES || wide > MOST_SAMPLES ||
      ratio > MOST_SAMPLES || high * ratio > MOST_SAMPLES || wide * ratio > MOST_SAMPLES)
    return refuse(n, "a size of 0, or one that is too large");
  g.beside = BORDER;
  Axis all;
  if (!dim_product(&v->shape, 2, 4, &pixels) || !dim_times(pixels, v->shape.at[0], &all) ||
      all.symbol || v->shape.at[1].symbol)
    return refuse(n, "images of bounded dimensions");
  const Axis count = boxes->shape.at[0];
  const Shape flat = {.rank = 2, .at = {all, v->shape.at[1]}},
              rows = {.rank = 3, .at = {count, {.n = high * ratio}, {.n = 1}}},
              columns = {.rank = 3, .at = {count, {.n = 1}, {.n = wide * ratio}}},
              first = {.rank = 3, .at = {count, {.n = 1}, {.n = 1}}},
              weight = {.rank = 4,
                        .at = {count, {.n = high * ratio}, {.n = wide * ratio}, {.n = 1}}};
  const char *table = let(n, reshaped(n, g.rows, &flat)), *t = tensor_text(n, boxes), *sum = "";
  Taps taps[] = {box_taps(&g, t, 1, high, ratio), box_taps(&g, t, 0, wide, ratio)};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      Tap *one = &taps[i].at[k];
      one->at = let(n, reshaped(n, one->at, i ? &columns : &rows));
      one->weight = let(n, reshaped(n, one->weight, i ? &columns : &rows));
    }
  const char *image =
      let(n, text(n, "%s * %lld", reshaped(n, text(n, "i32(%s)", tensor_text(n, of)), &first),
                  (long long)pixels.n));
  for (int i = 0; i < choices(&g, taps); i++) {
    const Pixels p = choice(&g, taps, i);
    const char *x = let(n, text(n, "gather(%s, %s + %s) * %s", table, image, p.row,
                                reshaped(n, text(n, "%s(%s)", g.dtype, p.weight), &weight)));
    sum = !*sum ? x : text(n, most ? "max(%s, %s)" : "%s + %s", sum, x);
  }
  const Shape
      apart = {.rank = 6,
               .at = {count, {.n = high}, {.n = ratio}, {.n = wide}, {.n = ratio}, v->shape.at[1]}},
      s = {.rank = 4, .at = {count, v->shape.at[1], {.n = high}, {.n = wide}}};
  t = text(n, "%s(%s, axis = [2, 4])", most ? "max" : "mean",
           reshaped(n, text(n, "(%s)", sum), &apart));
  return give(n, 0, v->type, &s, text(n, "transpose(%s, [0, 3, 1, 2])", t));
}

/* ---- DeformConv ---- */

/* The places of a window along an axis of so many pixels; -1: none. */
static int64_t window_places(int64_t pixels, int64_t window, int64_t stride, int64_t apart,
                             int64_t pads) {
  const int64_t room = pixels + pads - apart * (window - 1) - 1;
  return stride < 1 || apart < 1 || room < 0 ? -1 : room / stride + 1;
}

/* So many numbers of an attribute, if it is there; false after refusing. */
static bool numbers_of(Node *n, const char *name, int most, int64_t *at) {
  int64_t list[2 * MOST_RANK];
  int count;
  if (!attr_of(n, name)) return true;
  bool fits = attr_ints(n, name, list, &count) && count == most;
  for (int i = 0; fits && i < most; i++)
    fits = list[i] >= 0 && list[i] <= INT16_MAX, at[i] = list[i];
  return fits || refuse(n, "%s that are not %d small numbers", name, most);
}

typedef struct DeformConv {
  Tensor *v, *f, *offset, *bias, *mask;
  int64_t groups, parts; /* of the channels: for filters, and for offsets */
  int64_t x[MOST_RANK], w[MOST_RANK], o[MOST_RANK];
  int64_t stride[2], apart[2], pads[4];
  int64_t taps, out; /* of a window; places of windows */
} DeformConv;

static bool deform_conv_fits(Node *n, DeformConv *c) {
  const int64_t *x = c->x, *w = c->w, *o = c->o, groups = c->groups, parts = c->parts;
  if (groups < 1 || parts < 1 || x[1] % groups || w[0] % groups || w[1] != x[1] / groups ||
      groups > INT16_MAX || parts > INT16_MAX || w[2] > INT16_MAX || w[3] > INT16_MAX ||
      o[2] > INT16_MAX || o[3] > INT16_MAX)
    return refuse(n, "groups that do not divide the channels");
  c->taps = w[2] * w[3], c->out = o[2] * o[3];
  bool fits = o[1] == 2 * parts * c->taps && o[0] == x[0] && c->taps * c->out <= INT32_MAX;
  for (int i = 0; i < 2; i++)
    fits &= o[i + 2] == window_places(x[i + 2], w[i + 2], c->stride[i], c->apart[i],
                                      c->pads[i] + c->pads[i + 2]);
  const Shape masks = {.rank = 4,
                       .at = {{.n = o[0]}, {.n = parts * c->taps}, {.n = o[2]}, {.n = o[3]}}},
              biases = {.rank = 1, .at = {{.n = w[0]}}};
  if (fits && (!c->mask || shape_same(&c->mask->shape, &masks)) &&
      (!c->bias || shape_same(&c->bias->shape, &biases)))
    return true;
  return refuse(n, "shapes that do not fit");
}

static bool deform_conv_of(Node *n, DeformConv *c) {
  *c = (DeformConv){.v = input(n, 0),
                    .f = input(n, 1),
                    .offset = input(n, 2),
                    .bias = input(n, 3),
                    .mask = input(n, 4),
                    .groups = attr_int(n, "group", 1),
                    .parts = attr_int(n, "offset_group", 1),
                    .stride = {1, 1},
                    .apart = {1, 1}};
  if (c->v->shape.rank != 4 || c->f->shape.rank != 4 || c->offset->shape.rank != 4)
    return refuse(n, "windows over another number of axes than two");
  return shape_numbers(n, c->v, c->x) && shape_numbers(n, c->f, c->w) &&
         shape_numbers(n, c->offset, c->o) && numbers_of(n, "strides", 2, c->stride) &&
         numbers_of(n, "dilations", 2, c->apart) && numbers_of(n, "pads", 4, c->pads) &&
         deform_conv_fits(n, c);
}

/* Where each tap of each window lies along axis i of the images; `by`: the offsets. */
static const char *deformed_places(Node *n, const DeformConv *c, int i, const char *by) {
  const char *tap = along(n, c->taps, 0, 2), *at = along(n, c->out, 1, 2), *of = i ? "%" : "//";
  return let(n,
             text(n, "f32((%s %s %lld) * %lld + (%s %s %lld) * %lld - (%lld)) + f32(%s[:, :, %d])",
                  at, of, (long long)c->o[3], (long long)c->stride[i], tap, of, (long long)c->w[3],
                  (long long)c->apart[i], (long long)c->pads[i], by, i));
}

/* What the taps have, [batch of each part, taps and windows, channels of a part], by the filters.
 */
static const char *deformed_product(Node *n, const DeformConv *c, const char *t, const Shape *s) {
  const int64_t *x = c->x, *w = c->w;
  const Shape
      five = {.rank = 5,
              .at = {{.n = x[0]},
                     {.n = c->parts},
                     {.n = c->taps},
                     {.n = c->out},
                     {.n = x[1] / c->parts}}},
      each = {.rank = 5,
              .at = {{.n = x[0]}, {.n = c->groups}, {.n = w[1]}, {.n = c->taps}, {.n = c->out}}},
      filters = {.rank = 4,
                 .at = {{.n = c->groups}, {.n = w[0] / c->groups}, {.n = w[1]}, {.n = c->taps}}};
  t = let(n, reshaped(n, text(n, "transpose(%s, [0, 1, 4, 2, 3])", reshaped(n, t, &five)), &each));
  t = text(n, "einsum(\"ngckl,gock->ngol\", %s, %s)", t,
           reshaped(n, tensor_text(n, c->f), &filters));
  return reshaped(n, t, s);
}

bool onnx_deform_conv(Node *n) {
  DeformConv c;
  Images g;
  if (!deform_conv_of(n, &c) || !images_of(n, c.v, c.parts, &g)) return false;
  g.beside = ZEROS;
  const Axis batch = {.n = c.x[0] * c.parts}, places = {.n = c.taps * c.out};
  const Shape moved = {.rank = 4, .at = {batch, {.n = c.taps}, {.n = 2}, {.n = c.out}}},
              flat = {.rank = 2, .at = {batch, places}},
              column = {.rank = 3, .at = {batch, places, {.n = 1}}},
              s = {.rank = 4, .at = {{.n = c.x[0]}, {.n = c.w[0]}, {.n = c.o[2]}, {.n = c.o[3]}}};
  const char *by = let(n, reshaped(n, tensor_text(n, c.offset), &moved));
  Taps taps[2];
  for (int i = 0; i < 2; i++)
    taps[i] = linear_taps(&g, i, let(n, reshaped(n, deformed_places(n, &c, i, by), &flat)));
  const char *t = sampled(&g, taps, batch, places);
  if (c.mask) t = let(n, text(n, "%s * %s", t, reshaped(n, tensor_text(n, c.mask), &column)));
  t = deformed_product(n, &c, t, &s);
  if (c.bias) t = text(n, "%s + %s", t, per_channel(n, c.bias, 2));
  return give(n, 0, c.v->type, &s, t);
}
