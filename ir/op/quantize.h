/* What ops on quantized tensors share: how integers and scales lie along an axis, what shapes they
   have, and their parts in floats. See quantize.c. */
#ifndef GC_IR_OP_QUANTIZE_H
#define GC_IR_OP_QUANTIZE_H
#include "ir/op/op.h"

static inline int64_t axis_of(const Attr *attr) { return attr[AT_AXIS].i; }
static inline int64_t bits_of(const Attr *attr) { return attr[AT_BITS].i; }
static inline int64_t group_of(const Attr *attr) { return attr[AT_GROUP].i; }
static inline int64_t ceil_of(int64_t n, int64_t by) { return n / by + (n % by != 0); }
static inline Dtype stored_dtype(const Attr *attr) { return bits_of(attr) == 4 ? DT_U8 : DT_I8; }

/* The least integer of 16 bits; two bytes can make 128 lesser ones, which stand for this one. */
enum { LEAST_WIDE = -(1 << 15) };

/* Stored integers of n elements, and their groups. */
static inline int64_t stored(const Attr *attr, int64_t n) {
  return bits_of(attr) == 16 ? 2 * n : ceil_of(n, 8 / bits_of(attr));
}
static inline int64_t groups(const Attr *attr, int64_t n) { return ceil_of(n, group_of(attr)); }

/* Shape rules: false, after a reason. The op's attributes fit the tensor; it is of floats; the
   operand has t's dims, but n along the axis. */
bool quantize_has_groups(const ShapeIn *in, const Type *t);
bool quantize_of_floats(const ShapeIn *in, const Type *t);
bool quantize_has_dims(const ShapeIn *in, int operand, const char *what, const Type *t,
                       int64_t axis, Dtype dt, int64_t n);

/* The parts of dequantize, of type t; and the gradient of an operand that is the scales of q, where
   dy is that of the dequantized tensor. */
ValueId quantize_floats(Builder *b, const Attr *attr, ValueId q, ValueId s, const Type *t);
void quantize_grad_scales(GradCtx *g, const Op *op, const Attr *attr, int operand, ValueId q,
                          ValueId dy);

/* ---- evaluation ---- */

/* Where elements stand: n along the axis, `inner` apart. */
typedef struct Lines {
  int64_t n, inner, count;
} Lines;

static inline Lines lines_of(const Type *t, int64_t axis) {
  Lines l = {.n = t->dim[axis], .inner = 1};
  for (int i = (int)axis + 1; i < t->rank; i++) l.inner *= t->dim[i];
  l.count = l.n ? t->numel / l.n : 0;
  return l;
}

/* Element i of a line, where each line has n. */
static inline int64_t line_place(const Lines *l, int64_t line, int64_t n, int64_t i) {
  return (line / l->inner * n + i) * l->inner + line % l->inner;
}

static inline int64_t integer_at(const Attr *attr, const Lines *l, const Tensor *q, int64_t line,
                                 int64_t i) {
  if (bits_of(attr) == 8) return q->at[line_place(l, line, l->n, i)].i;
  if (bits_of(attr) == 16) {
    const int64_t wide = q->at[line_place(l, line, 2 * l->n, 2 * i)].i +
                         256 * q->at[line_place(l, line, 2 * l->n, 2 * i + 1)].i;
    return wide < LEAST_WIDE ? LEAST_WIDE : wide;
  }
  int64_t byte = q->at[line_place(l, line, stored(attr, l->n), i / 2)].i;
  return (i % 2 ? byte >> 4 : byte & 15) - 8;
}

static inline double scale_at(const Attr *attr, const Lines *l, const Tensor *s, int64_t line,
                              int64_t i) {
  return s->at[line_place(l, line, groups(attr, l->n), i / group_of(attr))].f;
}
#endif
