/* Helpers of shape rules: reasons, equality of operands, axis lists.
   Contract: a rule returns the result type, or NULL after it wrote one line to in->why (WHY_BYTES)
   that a user can act on. It reports nothing itself, since the verifier calls it, too. */
#include "ir/op/op.h"

#include <stdarg.h>

const Type *shape_wrong(const ShapeIn *in, const char *fmt, ...) {
  int n = snprintf(in->why, WHY_BYTES, "%s ", op_info[in->kind].name);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(in->why + n, WHY_BYTES - (size_t)n, fmt, ap);
  va_end(ap);
  return NULL;
}

const Type *shape_accumulator(const ShapeIn *in, const Type *t) {
  const Type *have = in->type[in->n - 1];
  if (!t || t == have) return t;
  return shape_wrong(in, "needs an accumulator of type %s, not %s", shape_str(in, t),
                     shape_str(in, have));
}

const char *shape_str(const ShapeIn *in, const Type *t) { return type_text(in->ctx, t); }

int64_t *shape_dims(const ShapeIn *in, int64_t small[SMALL_RANK], int rank) {
  return rank <= SMALL_RANK ? small : ARENA_ARRAY(ctx_arena(in->ctx), int64_t, rank);
}

const Type *shape_make(const ShapeIn *in, Dtype dt, int rank, const int64_t *dim) {
  const Type *t = type_get(in->ctx, dt, rank, dim);
  if (!t) shape_wrong(in, "would give a tensor of more elements than can be addressed");
  return t;
}

bool shape_equal(const ShapeIn *in, int i, int j) {
  const Type *a = in->type[i], *b = in->type[j];
  if (a == b) return true;
  shape_wrong(in, "needs equal %s: %s against %s", a->dtype != b->dtype ? "dtypes" : "shapes",
              shape_str(in, a), shape_str(in, b));
  return false;
}

bool shape_axes(const ShapeIn *in, const Ints *axes, int rank) {
  for (int i = 0; i < ints_n(axes); i++) {
    int64_t a = axes->at[i];
    if (a < 0 || a >= rank)
      return shape_wrong(in, "has no axis %lld in %s", (long long)a, shape_str(in, in->type[0]));
    if (i > 0 && a == axes->at[i - 1])
      return shape_wrong(in, "names axis %lld twice", (long long)a);
    if (i > 0 && a < axes->at[i - 1]) return shape_wrong(in, "needs its axes in ascending order");
  }
  return true;
}
