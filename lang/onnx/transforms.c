/* Discrete Fourier transforms, as products by matrices of cosines and sines, and the windows of
   signals. Contract: lengths are known when gc compiles, and at most MOST_LENGTH, so that products
   of two places are i32. */
#include "lang/onnx/graph.h"

#include <math.h>

enum { MOST_LENGTH = 1 << 15 };
static const double two_pi = 6.283185307179586;

/* cos or sin of 2 pi i k / length, [rows, columns], rounded once */
static const char *waves(Node *n, const char *of, int type, int64_t rows, int64_t columns,
                         int64_t length) {
  const char *turn = number_text(n->im, ELEM_F64, (Number){.f = two_pi / (double)length});
  return let(n, text(n, "%s(%s(f64((%s * %s) %% %lld) * %s))", elem_of(type)->gc, of,
                     along(n, rows, 0, 2), along(n, columns, 1, 2), (long long)length, turn));
}

static bool is_length(int64_t x) { return x > 0 && x <= MOST_LENGTH; }

/* Of rows [rest, used] of real parts and, unless they are "", imaginary ones: [rest, bins, 2]. */
static const char *transformed(Node *n, int type, const char *re, const char *im, int64_t used,
                               int64_t length, int64_t bins, bool inverse) {
  const char *c = waves(n, "cos", type, used, bins, length),
             *s = waves(n, "sin", type, used, bins, length);
  const char *minus = inverse ? "" : "-", *a = text(n, "%s @ %s", re, c),
             *b = text(n, "%s(%s @ %s)", minus, re, s);
  if (*im) {
    a = text(n, "%s %s %s @ %s", a, inverse ? "-" : "+", im, s);
    b = text(n, "%s @ %s %s %s @ %s", im, c, inverse ? "+" : "-", re, s);
  }
  a = let(n, a), b = let(n, b);
  const char *t = text(n, "stack([%s, %s], axis = 2)", a, b);
  return inverse ? text(n, "%s / %lld", t, (long long)length) : t;
}

bool onnx_dft(Node *n) {
  Tensor *v = input(n, 0);
  const bool old = n->version < 20, inverse = attr_int(n, "inverse", 0) != 0,
             onesided = attr_int(n, "onesided", 0) != 0;
  int64_t given = old ? attr_int(n, "axis", 1) : -2, length, has, perm[MOST_RANK], back[MOST_RANK];
  const int rank = v->shape.rank - 1; /* without the parts of complex numbers */
  int axis;
  Axis rest = {.n = 1};
  if (!old && input(n, 2) && !known_int(n, 2, &given)) return false;
  if (rank < 1 || !axis_from(n, given, rank + 1, &axis)) return refuse(n, "shapes that do not fit");
  if (axis == rank || !is_float(v) || (onesided && inverse))
    return refuse(n, "a transform of this form");
  if (!dim_number(n, v->shape.at[axis], &has)) return false;
  length = has;
  if (input(n, 1) && !known_int(n, 1, &length)) return false;
  const int64_t parts = v->shape.at[rank].n, bins = onesided ? length / 2 + 1 : length,
                used = has < length ? has : length;
  if (!is_length(length) || v->shape.at[rank].symbol || parts < 1 || parts > 2)
    return refuse(n, "a length of %lld", (long long)length);
  for (int i = 0; i < rank; i++)
    if (i != axis && !dim_times(rest, v->shape.at[i], &rest))
      return refuse(n, "axes that cannot be taken together");
  for (int i = 0; i < rank; i++) perm[i] = i < axis ? i : i + 1 < rank ? i + 1 : axis;
  for (int i = 0; i < rank; i++) back[perm[i]] = i;
  back[rank] = rank;
  const Shape rows = {.rank = 2, .at = {rest, {.n = has}}};
  const char *part[2] = {"", ""}, *x = tensor_text(n, v);
  for (int i = 0; i < parts; i++) {
    part[i] = text(n, "transpose(%s[..., %d], %s)", x, i, ints_text(n, perm, rank));
    part[i] = let(n, reshaped(n, part[i], &rows));
    if (used < has) part[i] = let(n, text(n, "%s[:, 0:%lld]", part[i], (long long)used));
  }
  const char *t = transformed(n, v->type, part[0], part[1], used, length, bins, inverse);
  Shape turned = {.rank = rank + 1}, s = v->shape;
  s.at[axis] = (Axis){.n = bins}, s.at[rank] = (Axis){.n = 2};
  for (int i = 0; i < rank; i++) turned.at[i] = s.at[perm[i]];
  turned.at[rank] = s.at[rank];
  t = text(n, "transpose(%s, %s)", reshaped(n, t, &turned), ints_text(n, back, rank + 1));
  return give(n, 0, v->type, &s, t);
}

/* Transforms of frames of a signal, [batch, samples, 1]. */
bool onnx_stft(Node *n) {
  Tensor *v = input(n, 0), *window = input(n, 2);
  int64_t step, length = 0, samples;
  if (v->shape.rank < 2 || v->shape.rank > 3 || !is_float(v) ||
      (v->shape.rank == 3 && (v->shape.at[2].symbol || v->shape.at[2].n != 1)))
    return refuse(n, "a signal that is not real");
  if (!known_int(n, 1, &step) || !dim_number(n, v->shape.at[1], &samples)) return false;
  if (window && (window->shape.rank != 1 || !dim_number(n, window->shape.at[0], &length)))
    return refuse(n, "shapes that do not fit");
  if (input(n, 3) && !known_int(n, 3, &length)) return false;
  if (!is_length(length) || length > samples || step < 1 || step > samples ||
      (window && window->shape.at[0].n != length))
    return refuse(n, "frames of %lld", (long long)length);
  const int64_t frames = (samples - length) / step + 1,
                bins = attr_int(n, "onesided", 1) ? length / 2 + 1 : length;
  const Axis batch = v->shape.at[0];
  const Shape flat = {.rank = 2, .at = {batch, {.n = samples}}};
  Axis rest;
  if (!dim_times(batch, (Axis){.n = frames}, &rest)) return refuse(n, "a batch of this form");
  const char *at = let(n, text(n, "%s * %lld + %s", along(n, frames, 0, 2), (long long)step,
                               along(n, length, 1, 2)));
  const char *x = let(n, reshaped(n, tensor_text(n, v), &flat));
  x = gathered(n, x, 2, 1, at, 2);
  if (window) x = text(n, "%s * %s", x, tensor_text(n, window));
  x = let(n, reshaped(n, text(n, "(%s)", x), &(Shape){.rank = 2, .at = {rest, {.n = length}}}));
  const Shape s = {.rank = 4, .at = {batch, {.n = frames}, {.n = bins}, {.n = 2}}};
  const char *t = transformed(n, v->type, x, "", length, length, bins, false);
  return give(n, 0, v->type, &s, reshaped(n, t, &s));
}

/* Weights of frequencies in bands of equal width on the mel scale: of the triangle from the band
   below to the band above, where the bands' edges are rounded down to frequencies. */
bool onnx_mel(Node *n) {
  const Number *x[5];
  for (int i = 0; i < 5; i++)
    if (!(x[i] = known_input(n, i)) || input(n, i)->shape.rank > 1) return false;
  const int type = (int)attr_int(n, "output_datatype", ELEM_F32);
  const int64_t bands = x[0]->i, length = x[1]->i, rate = x[2]->i;
  if (!is_length(bands) || !is_length(length) || rate < 1 || !elem_of(type)->is_float ||
      !is_float(input(n, 3)) || !is_float(input(n, 4)))
    return refuse(n, "bands of this form");
  const int64_t rows = length / 2 + 1;
  if (rows * bands > 1 << 24) return refuse(n, "a matrix that is too large");
  const double low = 2595 * log10(1 + x[3]->f / 700), high = 2595 * log10(1 + x[4]->f / 700);
  int64_t *edge = ARENA_ARRAY(n->im->a, int64_t, bands + 2);
  for (int64_t i = 0; i < bands + 2; i++) {
    const double mel = (double)i * ((high - low) / (double)(bands + 2)) + low,
                 at =
                     floor((double)(length + 1) * (700 * (pow(10, mel / 2595) - 1)) / (double)rate);
    if (!(at >= 0 && at <= (double)rows)) return refuse(n, "frequencies that are not there");
    edge[i] = (int64_t)at;
  }
  Number *w = ARENA_ARRAY(n->im->a, Number, rows * bands);
  for (int64_t i = 0; i < bands; i++) {
    const int64_t from = edge[i], top = edge[i + 1], to = edge[i + 2];
    if (from == top) {
      if (top < rows) w[top * bands + i].f = 1;
    } else {
      for (int64_t k = from; k <= top && k < rows; k++)
        w[k * bands + i].f = (double)(k - from) / (double)(top - from);
    }
    for (int64_t k = top; top < to && k < to; k++)
      w[k * bands + i].f = (double)(to - k) / (double)(to - top);
  }
  for (int64_t i = 0; i < rows * bands; i++) w[i] = number_fit(type, w[i]);
  return give_known(n, 0, type, &(Shape){.rank = 2, .at = {{.n = rows}, {.n = bands}}}, w);
}

/* a - b cos(2 pi i / length) + c cos(4 pi i / length) */
bool onnx_window(Node *n) {
  static const struct {
    const char *op;
    double a, b, c;
  } of[] = {{"HannWindow", 0.5, 0.5, 0},
            {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
            {"BlackmanWindow", 0.42, 0.5, 0.08}};
  const int type = (int)attr_int(n, "output_datatype", ELEM_F32);
  int64_t size;
  int row = 0;
  if (!known_int(n, 0, &size)) return false;
  if (!is_length(size) || !elem_of(type)->is_float)
    return refuse(n, "%lld elements of type %d", (long long)size, type);
  while (strcmp(of[row].op, n->op) != 0) row++;
  const int64_t length = attr_int(n, "periodic", 1) || size == 1 ? size : size - 1;
  const double turn = two_pi / (double)length;
#define NUMBER(x) number_text(n->im, ELEM_F64, (Number){.f = x})
  const char *at = let(n, text(n, "%s(iota(%lld))", elem_of(type)->gc, (long long)size));
  const char *t =
      text(n, "%s - %s * cos(%s * %s) + %s * cos(%s * %s)", NUMBER(of[row].a), NUMBER(of[row].b),
           at, NUMBER(turn), NUMBER(of[row].c), at, NUMBER(2 * turn));
#undef NUMBER
  return give(n, 0, type, &(Shape){.rank = 1, .at = {{.n = size}}}, t);
}
