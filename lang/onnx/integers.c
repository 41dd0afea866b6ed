/* Products of two quantized matrices as products of integers, whatever names the operators have:
   MatMul and Gemm behind DequantizeLinear, MatMulInteger, QLinearMatMul.
   Contract: the right matrix is a tensor of the file, and scales do not vary along the depth; all
   else stays a product of floats, and so does one whose sums without zero points may be beyond
   2 ** 24, as only those of more than 1,024 products are. Method: gc's products of quantized
   matrices with scales of 1, in groups as long as the depth. Zero points are behind the product:
   the sum of (x - a) (w - b) over the depth K is that of x w, less a times the column's sum of w,
   which is known, less b times the row's sum of x, plus a b K. */
#include "lang/onnx/graph.h"

#include <stdlib.h>

enum {
  LEAST_DEPTH = 32,  /* of what pays */
  MOST_GROUP = 1024, /* whose sum is exact as a float */
  SHIFT = 128,       /* from u8 to i8 */
  EXACT = 1 << 24    /* up to which floats hold all integers */
};

static bool is_byte(const Tensor *v) { return v->type == ELEM_U8 || v->type == ELEM_I8; }

static bool is_one(const Tensor *v) {
  uint64_t n;
  return shape_count(&v->shape, &n) && n == 1;
}

/* One for all, or one for each column. */
static bool by_column(const Tensor *v, Axis columns) {
  return is_one(v) || (v->shape.rank == 1 && dim_same(v->shape.at[0], columns));
}

/* The integers as i8. */
static const char *shifted(Node *n, Tensor *v) {
  const char *t = tensor_text(n, v);
  return v->type == ELEM_I8 ? t : let(n, text(n, "i8(i32(%s) - %d)", t, SHIFT));
}

/* The zero point of integers that were shifted, as i32; NULL: it is 0. */
static const char *zero_of(Node *n, const Quantized *q) {
  const int64_t less = q->q->type == ELEM_U8 ? SHIFT : 0;
  Number x = {0};
  if (q->zero && !is_one_number(n->im, q->zero, &x)) {
    const char *t = tensor_text(n, q->zero);
    if (is_one(q->zero)) t = reshaped(n, t, &(Shape){0});
    return let(n, text(n, "i32(%s) - %lld", t, (long long)less));
  }
  x.i -= less;
  return x.i ? number_text(n->im, ELEM_I32, x) : NULL;
}

static int at(const Tensor *w, uint8_t byte) {
  return w->type == ELEM_I8 ? (int8_t)byte : byte - SHIFT;
}

/* The sums of products are exact as floats, whatever the left integers are. */
static bool is_exact(Node *n, const Tensor *w, bool transposed) {
  const uint64_t rows = (uint64_t)w->shape.at[0].n, width = (uint64_t)w->shape.at[1].n;
  if (w->shape.at[transposed].n <= MOST_GROUP) return true;
  uint8_t *row = ARENA_ARRAY(n->im->a, uint8_t, width + 1);
  uint64_t *sum = ARENA_ARRAY(n->im->a, uint64_t, (transposed ? rows : width) + 1);
  const char *why;
  for (uint64_t i = 0; i < rows; i++) {
    if (!tensor_bytes(n->im, w->tensor, i * width, width, row, &why)) return false;
    for (uint64_t k = 0; k < width; k++) {
      uint64_t *column = &sum[transposed ? i : k];
      *column += (uint64_t)abs(at(w, row[k]));
      if (*column * SHIFT > EXACT) return false;
    }
  }
  return true;
}

/* The sums of the columns of the right matrix, shifted; NULL: its bytes cannot be read. */
static Tensor *column_sums(Node *n, const Tensor *w, bool transposed) {
  const uint64_t rows = (uint64_t)w->shape.at[0].n, width = (uint64_t)w->shape.at[1].n;
  const uint64_t columns = transposed ? rows : width;
  uint8_t *row = ARENA_ARRAY(n->im->a, uint8_t, width + 1);
  Number *sum = ARENA_ARRAY(n->im->a, Number, columns + 1);
  const char *why;
  for (uint64_t i = 0; i < rows; i++) {
    if (!tensor_bytes(n->im, w->tensor, i * width, width, row, &why)) return NULL;
    for (uint64_t k = 0; k < width; k++) sum[transposed ? i : k].i += at(w, row[k]);
  }
  Tensor *v = value_new(n->im, ELEM_I32, &(Shape){.rank = 1, .at = {{.n = (int64_t)columns}}});
  v->wish = text(n, "%s_sums", w->wish ? w->wish : "columns");
  v->known = sum;
  return v;
}

/* x, of so many rows and a depth, by w, with scales of 1. */
static const char *product(Node *n, const char *x, Axis rows, const char *w, int64_t depth,
                           int64_t columns, bool transposed) {
  int64_t group = LEAST_DEPTH;
  while (group < depth && group < MOST_GROUP) group *= 2;
  const long long groups = (depth + group - 1) / group, g = group;
  const char *left =
      let(n, text(n, "dequantize(%s, ones([%s, %lld], dtype = bf16), axis = 1, group = %lld)", x,
                  dim_text(n->im, rows), groups, g));
  const long long of[] = {transposed ? columns : groups, transposed ? groups : columns};
  const char *right =
      let(n, text(n, "dequantize(%s, ones([%lld, %lld], dtype = bf16), axis = %d, group = %lld)", w,
                  of[0], of[1], transposed, g));
  return let(n, text(n, "%s @ %s%s", left, right, transposed ? "'" : ""));
}

const char *onnx_product_of_integers(Node *n, const Quantized *x, const Quantized *w,
                                     bool transposed, int type, Shape *shape) {
  Tensor *a = x->q, *b = w->q;
  uint64_t count;
  Axis rows;
  if (n->im->train || !is_byte(a) || !is_byte(b) || a->shape.rank < 2 || b->shape.rank != 2 ||
      !b->tensor || !shape_count(&b->shape, &count))
    return NULL;
  Shape of_result = a->shape, *s = &of_result;
  const Axis depth = b->shape.at[transposed], columns = b->shape.at[!transposed];
  if (!dim_same(s->at[s->rank - 1], depth) || depth.n < LEAST_DEPTH || columns.n < 1 ||
      columns.n > MOST_KNOWN || !dim_product(s, 0, s->rank - 1, &rows))
    return NULL;
  if ((x->zero && !is_one(x->zero)) || (w->zero && !by_column(w->zero, columns))) return NULL;
  if (!is_exact(n, b, transposed)) return NULL;
  s->at[s->rank - 1] = columns;
  const char *za = zero_of(n, x), *zb = zero_of(n, w);
  Tensor *sums = za ? column_sums(n, b, transposed) : NULL;
  if (za && !sums) return NULL;
  const char *left = shifted(n, a), *right = shifted(n, b);
  if (a->shape.rank > 2) left = let(n, reshaped(n, left, &(Shape){.rank = 2, .at = {rows, depth}}));
  const char *t = product(n, left, rows, right, depth.n, columns.n, transposed);
  const bool whole = za || zb || type == ELEM_I32;
  if (whole) t = text(n, "i32(%s)", t);
  if (za) t = text(n, "%s - %s * %s", t, za, tensor_text(n, sums));
  if (zb) {
    const char *of_row = text(n, "sum(i32(%s), axis = 1, keep = true)", left);
    if (za) of_row = text(n, "(%s - %lld * %s)", of_row, (long long)depth.n, za);
    t = text(n, "%s - %s * %s", t, zb, of_row);
  }
  if (s->rank > 2) t = reshaped(n, let(n, t), s);
  *shape = *s;
  return whole && type == ELEM_F32 ? text(n, "f32(%s)", t) : t;
}

/* A scale as a number or a tensor that meets rows. */
static const char *scale_text(Node *n, Tensor *v) {
  Number x;
  if (is_one_number(n->im, v, &x)) return number_text(n->im, v->type, x);
  const char *t = tensor_text(n, v);
  return is_one(v) ? reshaped(n, t, &(Shape){0}) : t;
}

const char *onnx_product_of_quantized(Node *n, const Tensor *a, const Tensor *b, bool transposed,
                                      Shape *s) {
  const Quantized *x = a->quantized, *w = b->quantized;
  if (!x || !w || x->scale->type != ELEM_F32 || w->scale->type != ELEM_F32 || w->q->shape.rank != 2)
    return NULL;
  const int axis = (int)(w->axis < 0 ? w->axis + 2 : w->axis);
  const bool columns = is_one(w->scale) || axis == !transposed;
  if (!columns || !is_one(x->scale) || !by_column(w->scale, w->q->shape.at[!transposed]))
    return NULL;
  if (w->zero && !is_one(w->zero) && axis != !transposed) return NULL;
  const char *t = onnx_product_of_integers(n, x, w, transposed, ELEM_F32, s);
  if (!t) return NULL;
  return let(n, text(n, "%s * (%s * %s)", t, scale_text(n, x->scale), scale_text(n, w->scale)));
}
