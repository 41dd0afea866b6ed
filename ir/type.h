/* Types of values: dtypes, shapes, and extents that are known when the program runs. All are
   interned in the context: equality is ==. */
#ifndef GC_IR_TYPE_H
#define GC_IR_TYPE_H
#include "ir/support/ctx.h"

typedef enum Dtype {
  DT_BOOL,
  DT_U8,
  DT_I8,
  DT_I32,
  DT_I64,
  DT_F16,
  DT_BF16,
  DT_F32,
  DT_F64,
  DTYPES
} Dtype;

/* An extent that is known when the program runs: n of `n <= 64`, a part of an axis, or a product of
   such. A part has the elements of the axis from `first` to `first + bound` that a run has; it may
   have none. One that begins in front of the axis has more elements: n + 2 begins at -2, as n - 1
   begins at 1 and both end with the axis. Interned. */
typedef struct Extent {
  const char *name;                   /* of a product: "n * t"; of a part: "(n<=64)[16:32]" */
  int64_t bound;                      /* 2 or more */
  int index;                          /* in the context */
  int nfactors;                       /* 1: itself */
  const struct Extent *const *factor; /* in the order of their indices; one may be there twice */
  int64_t whole;                      /* of a part: the axis as type_get takes it; else 0 */
  int64_t first;                      /* of a part */
} Extent;

typedef struct Type { /* interned: equality is == */
  Dtype dtype;
  int rank;
  int64_t numel;  /* product of dims; 1 for rank 0 */
  uint64_t bytes; /* numel times the dtype's size, in the logical row-major layout */
  /* by axis: the extent that the axis is a multiple of, NULL where it is static; NULL: all are */
  const Extent *const *extent;
  int64_t dim[]; /* of a bounded axis: at its bound, as numel, bytes and strides are */
} Type;

enum { SMALL_RANK = 8 }; /* up to this rank, scratch dims lie on the stack */
/* NULL if the size overflows 2^62 bytes or a dim is negative: the caller reports it. */
const Type *type_get(Ctx *c, Dtype dt, int rank, const int64_t *dim);
const Type *type_scalar(Ctx *c, Dtype dt);
/* ---- bounded dimensions ---- */
const Extent *extent_get(Ctx *c, const char *name, int64_t bound);
enum { EXTENT_FACTORS = 8 };
/* NULL if its bound is not below 2^31 or it has too many factors; if y is no factor of x. */
const Extent *extent_product(Ctx *c, const Extent *x, const Extent *y);
const Extent *extent_quotient(Ctx *c, const Extent *x, const Extent *y); /* of different extents */
/* The dim of a bounded axis as type_get takes it, in place of a number: so many times the extent. A
   negative number, from which type_axis and axis_extent read it back. */
int64_t axis_of_extent(const Extent *x, int64_t multiple);
static inline bool axis_is_bounded(int64_t axis) { return axis <= -(INT64_C(1) << 32); }
const Extent *axis_extent(Ctx *c, int64_t axis); /* NULL: it is static */
int64_t axis_multiple(int64_t axis);             /* of a bounded one */
const char *axis_str(Ctx *c, int64_t axis);      /* "64", "n", "4 n * t" */
/* The dim of n elements of a bounded axis, those from `first` on, at the bounds: so many times a
   part of its extent if that has two or more, else a part of the axis. 0: n is below 2. */
int64_t axis_part(Ctx *c, int64_t axis, int64_t first, int64_t n);
/* The dim of so many elements more, fewer if `more` is negative, and none where a run has fewer
   than those. 0: that is no part of the axis, or has a bound below 2. */
int64_t axis_and_more(Ctx *c, int64_t axis, int64_t more);
/* A run may have fewer elements than `axis_and_more` would take away. */
bool axis_may_lack(Ctx *c, int64_t axis, int64_t elements);
/* Of a dim that ends with its axis: the axis, and what it has more; false: it is another one. */
bool axis_is_more(Ctx *c, int64_t axis, int64_t *of, int64_t *more);
/* `part` is such a part of the axis; where it begins. */
bool axis_is_part(Ctx *c, int64_t axis, int64_t part, int64_t *first);
/* n, 4 n, or so many elements more: an input may have it. */
bool axis_is_of_input(Ctx *c, int64_t axis);
/* The dim of axes one after the other: multiples of one extent, and so many elements more. 0: their
   sum is no dim. */
int64_t axis_joined(Ctx *c, const int64_t *axis, int n);
/* The dim of two axes that are joined; 0: it is too large. */
int64_t axis_product(Ctx *c, int64_t a, int64_t b);
/* Axis a over axis b; 0: it is no whole number of them. */
int64_t axis_quotient(Ctx *c, int64_t a, int64_t b);
/* The number of a part among equal ones, one after the other; 0 of one that is not among such. */
static inline int64_t extent_number(const Extent *part) {
  return part->first > 0 && part->first % part->bound == 0 ? part->first / part->bound : 0;
}
static inline const Extent *type_extent(const Type *t, int i) {
  return t->extent ? t->extent[i] : NULL;
}
/* The dim as type_get takes it. */
static inline int64_t type_axis(const Type *t, int i) {
  const Extent *x = type_extent(t, i);
  return x ? axis_of_extent(x, t->dim[i] / x->bound) : t->dim[i];
}
/* Fills `axis` with all of them. */
const int64_t *type_axes(const Type *t, int64_t *axis);
/* ---- */
const Type *type_with_dtype(Ctx *c, const Type *t, Dtype dt);             /* same shape */
const Type *type_with_extent(Ctx *c, const Type *t, int axis, int64_t n); /* of that one axis */
/* The axes up to the last bounded one as one, which a run has side by side; the type itself if what
   is bounded is the outermost axis; NULL if the axis is too long. */
const Type *type_joined(Ctx *c, const Type *t);
const Type *type_stacked(Ctx *c, const Type *row, int64_t n); /* behind a new first axis */
const char *type_str(Ctx *c, const Type *t);                  /* "f32[64,256]", "f32[]"; interned */
const char *type_text(Ctx *c, const Type *t); /* the same in a message: parts are n - 1 */
/* numpy's broadcasting of two shapes; dtype is a's. NULL where they do not fit. */
const Type *type_broadcast(Ctx *c, const Type *a, const Type *b);
bool type_same_dims(const Type *a, const Type *b); /* whatever their dtypes */
/* A reshape from one to the other moves no element, whatever the extents: each bounded axis is the
   outermost of the axes that become others together. */
bool type_same_elements(const Type *a, const Type *b);
/* So many elements, and the last axis is the same: [M, N] and [B, T, N]. */
bool type_same_rows(const Type *a, const Type *b);

int dtype_size(Dtype dt); /* bytes */
/* The dtype of accumulators of elements of dt: f32 for half precisions, whose range and precision a
   sum soon exceeds; else dt itself. */
Dtype dtype_sum(Dtype dt);
const char *dtype_name(Dtype dt);
bool dtype_parse(const char *s, Dtype *out);
static inline bool dtype_is_float(Dtype dt) { return dt >= DT_F16 && dt <= DT_F64; }
static inline bool dtype_is_half(Dtype dt) { return dt == DT_F16 || dt == DT_BF16; }
static inline bool dtype_is_int(Dtype dt) { return dt >= DT_U8 && dt <= DT_I64; }
static inline bool dtype_is_byte(Dtype dt) { return dt <= DT_I8; } /* bool is one, too */

#endif
