/* Quantizes a float matrix of a file as it is loaded into a program compiled with --weights=q8 or
   q4. Contract: the integers and scales are those of the compiler's op quantize, bit for bit
   (ir/op/quantize.c). Integers and scales are made one after the other, each from the file, so
   that nothing is kept between them; a matrix is in memory as floats while it is read. */
#include "runtime/weights/source.h"
#include "runtime/weights/weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool take_piece(void *to, const GcTensor *t, uint64_t at, uint64_t n, const void *data,
                       Err *e) {
  (void)t, (void)e;
  memcpy((float *)to + at, data, n * sizeof(float));
  return true;
}

/* Elements along the axis, `step` apart, of line `line`. */
typedef struct Lines {
  uint64_t n, step, count;
} Lines;

static Lines lines_of(const GcQuantized *q) {
  uint64_t rows = (uint64_t)q->t.dims[0], columns = (uint64_t)q->t.dims[1];
  return q->axis ? (Lines){columns, 1, rows} : (Lines){rows, columns, columns};
}

/* Element i of a line of a matrix that has n along the axis. */
static uint64_t place(const Lines *l, uint64_t line, uint64_t n, uint64_t i) {
  return l->step == 1 ? line * n + i : i * l->step + line;
}

static uint16_t scale_of(const GcQuantized *q, const Lines *l, const float *x, uint64_t line,
                         uint64_t from) {
  float hi = -INFINITY, lo = INFINITY, scale = 0;
  bool nan = false;
  for (uint64_t i = from; i < l->n && i < from + (uint64_t)q->group; i++) {
    float v = x[place(l, line, l->n, i)];
    nan |= isnan(v);
    hi = v > hi ? v : hi, lo = v < lo ? v : lo;
  }
  scale = 0 - (nan ? NAN : hi >= -lo ? hi : lo) * ldexpf(1, 1 - q->bits);
  uint16_t bf16;
  elem_convert(&bf16, (Elem)GC_BF16, &scale, (Elem)GC_F32, 1);
  return bf16;
}

static int integer_of(const GcQuantized *q, float x, float scale) {
  float end = ldexpf(1, q->bits - 1), v = rintf(x / scale);
  if (scale == 0 || isnan(v)) return 0;
  return (int)(v < -end ? -end : v > end - 1 ? end - 1 : v);
}

static float scale_number(uint16_t scale) {
  float f;
  elem_convert(&f, (Elem)GC_F32, &scale, (Elem)GC_BF16, 1);
  return f;
}

static void make_scales(const GcQuantized *q, const float *x, uint16_t *out) {
  Lines l = lines_of(q);
  uint64_t group = (uint64_t)q->group, groups = (l.n + group - 1) / group;
  for (uint64_t line = 0; line < l.count; line++)
    for (uint64_t k = 0; k < groups; k++)
      out[place(&l, line, groups, k)] = scale_of(q, &l, x, line, k * group);
}

static void make_integers(const GcQuantized *q, const float *x, uint8_t *out) {
  Lines l = lines_of(q);
  uint64_t per = 8 / (uint64_t)q->bits, stored = (l.n + per - 1) / per;
  for (uint64_t line = 0; line < l.count; line++) {
    float scale = 0;
    for (uint64_t i = 0; i < stored * per; i++) {
      if (i < l.n && i % (uint64_t)q->group == 0) scale = scale_number(scale_of(q, &l, x, line, i));
      int v = i < l.n ? integer_of(q, x[place(&l, line, l.n, i)], scale) : 0;
      uint8_t *to = &out[place(&l, line, stored, i / per)];
      *to = (uint8_t)(per == 1 ? v : i % 2 ? *to + 16 * (v + 8) : v + 8);
    }
  }
}

bool weights_quantize(const WeightsTensor *x, const GcGlobal *g, uint8_t *stage,
                      WeightsPiece *piece, void *to, Err *e) {
  const GcQuantized *q = g->quantized;
  uint64_t n = tensor_count(&g->t), size = (uint64_t)elem_info[g->t.dtype].size;
  float *floats = malloc(tensor_count(&q->t) * sizeof(float) + 1);
  uint8_t *made = malloc(n * size + 1);
  bool ok = floats && made;
  if (!ok) err_set(e, EXIT_ENV, "not enough memory to quantize %s", q->t.name);
  ok = ok && weights_pieces(x, &q->t, stage, take_piece, floats, e);
  if (ok) {
    if (q->scales)
      make_scales(q, floats, (uint16_t *)made);
    else
      make_integers(q, floats, made);
    ok = piece(to, &g->t, 0, n, made, e);
  }
  free(floats);
  free(made);
  return ok;
}
