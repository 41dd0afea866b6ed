/* Quantizes a float matrix of a file as it is loaded into a program compiled with --weights=q8 or
   q4. Contract: the integers and scales are those of the compiler's op quantize, bit for bit
   (ir/op/quantize.c). Integers and scales are made one after the other, each from the file; of the
   floats as many rows are in memory as hold whole groups and bytes, and as pieces come from. */
#include "runtime/weights/source.h"
#include "runtime/weights/weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elements along the axis, `step` apart, in each of so many lines. */
typedef struct Lines {
  uint64_t n, step, count;
} Lines;

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

static void make_scales(const GcQuantized *q, Lines l, const float *x, uint16_t *out) {
  uint64_t group = (uint64_t)q->group, groups = (l.n + group - 1) / group;
  for (uint64_t line = 0; line < l.count; line++)
    for (uint64_t k = 0; k < groups; k++)
      out[place(&l, line, groups, k)] = scale_of(q, &l, x, line, k * group);
}

static void make_integers(const GcQuantized *q, Lines l, const float *x, uint8_t *out) {
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

/* ---- rows ---- */

typedef struct Band { /* rows of the matrix that are in memory */
  const GcGlobal *g;
  float *floats;
  uint8_t *made;
  uint64_t first, rows; /* the first one's number; how many there may be */
  uint64_t height, width;
  WeightsPiece *piece;
  void *to;
} Band;

/* Rows of floats that become one row of the global. */
static uint64_t rows_of_one(const GcQuantized *q) {
  return q->axis ? 1 : q->scales ? (uint64_t)q->group : 8 / (uint64_t)q->bits;
}

static uint64_t ceil_of(uint64_t n, uint64_t by) { return n / by + (n % by != 0); }

/* What is in memory goes out. */
static bool put_band(const Band *b, Err *e) {
  const GcQuantized *q = b->g->quantized;
  uint64_t rows = b->height - b->first < b->rows ? b->height - b->first : b->rows;
  Lines l = q->axis ? (Lines){b->width, 1, rows} : (Lines){rows, b->width, b->width};
  uint64_t width = (uint64_t)b->g->t.dims[1], of = rows_of_one(q);
  if (q->scales)
    make_scales(q, l, b->floats, (uint16_t *)b->made);
  else
    make_integers(q, l, b->floats, b->made);
  return b->piece(b->to, &b->g->t, b->first / of * width, ceil_of(rows, of) * width, b->made, e);
}

static bool take_piece(void *to, const GcTensor *t, uint64_t at, uint64_t n, const void *data,
                       Err *e) {
  Band *b = to;
  const float *x = data;
  (void)t;
  for (uint64_t k; n; at += k, x += k, n -= k) {
    uint64_t row = at / b->width;
    if (row - b->first >= b->rows) {
      if (!put_band(b, e)) return false;
      b->first = row / b->rows * b->rows;
    }
    uint64_t left = (b->first + b->rows) * b->width - at;
    k = n < left ? n : left;
    memcpy(b->floats + (at - b->first * b->width), x, k * sizeof *x);
  }
  return true;
}

bool weights_quantize(const WeightsTensor *x, const GcGlobal *g, uint8_t *stage,
                      WeightsPiece *piece, void *to, Err *e) {
  const GcQuantized *q = g->quantized;
  uint64_t group = q->axis ? 1 : (uint64_t)q->group * (8 / (uint64_t)q->bits);
  uint64_t come = x->transposed ? WEIGHTS_ROWS : 1;
  Band b = {.g = g,
            .rows = come % group ? come * group : come,
            .height = (uint64_t)q->t.dims[0],
            .width = (uint64_t)q->t.dims[1],
            .piece = piece,
            .to = to};
  if (b.rows > b.height) b.rows = ceil_of(b.height, group) * group;
  if (!tensor_count(&q->t)) return true;
  uint64_t size = (uint64_t)elem_info[g->t.dtype].size;
  b.floats = malloc(b.rows * b.width * sizeof *b.floats);
  b.made = malloc(ceil_of(b.rows, rows_of_one(q)) * (uint64_t)g->t.dims[1] * size);
  bool ok = b.floats && b.made;
  if (!ok) err_set(e, EXIT_ENV, "not enough memory to quantize %s", q->t.name);
  ok = ok && weights_pieces(x, &q->t, stage, take_piece, &b, e) && put_band(&b, e);
  free(b.floats);
  free(b.made);
  return ok;
}
