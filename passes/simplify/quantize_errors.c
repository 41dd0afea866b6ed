/* The outputs of an entry that measures quantization: for each product of a quantized param the
   root of the mean, over rows, of the square of what quantization changes in a row over that of the
   row. Contract: the builder stands in the entry's body. The entry goes on with the exact product,
   so that each error is that of one product alone, on the values that the floats would have there.
   A mean over rows and its root are aggregates: the figure is that of all batches. */
#include "passes/simplify/quantize_errors.h"
#include "ir/op/op.h"
#include <float.h>

static ValueId row_squares(Builder *b, ValueId x) {
  const int64_t last = value_type(b->e, x)->rank - 1;
  return build_reduce(b, OP_SUM, build2(b, OP_MUL, x, x), &last, 1);
}

/* "error.net.fc1.w", "error.net.fc1.w.2" of its second product, … */
static const char *output_name(const QuantizeErrors *x, Ctx *c, const char *path) {
  const char *name = intern_printf(c, "error.%s", path);
  for (int more = 2;; more++) {
    bool taken = false;
    for (uint32_t i = 0; i < x->name.n; i++) taken |= x->name.at[i] == name;
    if (!taken) return name;
    name = intern_printf(c, "error.%s.%d", path, more);
  }
}

void errors_add(QuantizeErrors *x, Builder *b, const char *path, ValueId exact, ValueId rounded) {
  ValueId all = row_squares(b, exact), off = row_squares(b, build2(b, OP_SUB, exact, rounded));
  const Type *rows = value_type(b->e, all);
  /* nothing of a row of zeros changes */
  off = build2(b, OP_DIV, off, build2(b, OP_MAX, all, build_const(b, rows, FLT_MIN)));
  int64_t *axes = ARENA_ARRAY(x->arena, int64_t, rows->rank + 1);
  for (int i = 0; i < rows->rank; i++) axes[i] = i;
  if (rows->rank) {
    ValueId sum = build_reduce(b, OP_SUM, off, axes, rows->rank);
    ValueId count = build_count(b, rows, axes, rows->rank);
    off = build2(b, OP_DIV, sum, build_convert(b, count, rows->dtype));
  }
  vec_push(x->arena, &x->value, build1(b, OP_SQRT, off));
  vec_push(x->arena, &x->name, output_name(x, b->m->ctx, path));
}

bool errors_return(QuantizeErrors *x, Builder *b) {
  if (!x->value.n) return false;
  build_return(b, x->value.at, x->name.at, (int)x->value.n);
  entry_find_aggregates(b);
  x->value.n = x->name.n = 0;
  return true;
}
