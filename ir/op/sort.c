/* Ops that are sequential along one axis: cumsum and argsort.
   Contract of cumsum: element i is the sum of elements 0 to i, or with `reverse` of all from i on.
   Sums of halves are kept in f32, those of f32 in f32; the reference keeps them in double and
   rounds each once. The gradient of either is the other. argsort is stable in both
   directions; it has no gradient: sorted values are gathered by the indices. */
#include "ir/op/op.h"

/* ---- shapes ---- */

const Type *shape_cumsum(const ShapeIn *in) {
  const Type *t = in->type[0];
  int64_t axis = in->attr[AT_AXIS].i;
  if (axis < 0 || axis >= t->rank)
    return shape_wrong(in, "has no axis %lld in %s", (long long)axis, shape_str(in, t));
  if (t->dtype == DT_BOOL)
    return shape_wrong(in, "needs numbers, not %s: convert with f32(x) or i32(x)",
                       shape_str(in, t));
  return t;
}

const Type *shape_argsort(const ShapeIn *in) {
  const Type *t = in->type[0];
  if (t->rank == 0) return shape_wrong(in, "needs a last axis, which %s has not", shape_str(in, t));
  if (t->dim[t->rank - 1] > INT32_MAX)
    return shape_wrong(in, "needs at most 2147483647 elements along the last axis of %s",
                       shape_str(in, t));
  return type_with_dtype(in->ctx, t, DT_I32);
}

/* ---- gradients ---- */

void grad_cumsum(GradCtx *g, const Op *op, ValueId dy) {
  Attr attr[MAX_ATTRS] = {op->attr[AT_AXIS], [AT_BACKWARD].i = !op->attr[AT_BACKWARD].i};
  grad_to(g, op, 0, build(g->b, OP_CUMSUM, &dy, 1, attr, NULL));
}

/* ---- evaluation ---- */

void eval_cumsum(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  const Type *t = x->type;
  int64_t n = t->dim[op->attr[AT_AXIS].i],
          step = row_major_strides(c->scratch, t)[op->attr[AT_AXIS].i];
  bool is_float = dtype_is_float(t->dtype), back = op->attr[AT_BACKWARD].i;
  for (int64_t line = 0; n && line < t->numel / n; line++) {
    int64_t first = line / step * step * n + line % step;
    Scalar sum = is_float ? (Scalar){.f = -0.0} : (Scalar){.i = 0};
    for (int64_t i = 0; i < n; i++) {
      int64_t at = first + (back ? n - 1 - i : i) * step;
      if (is_float)
        sum.f += x->at[at].f;
      else
        sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)x->at[at].i);
      y->at[at] = scalar_round(sum, t->dtype, c->it->mode);
    }
  }
}

static bool larger(bool is_float, Scalar a, Scalar b) {
  if (!is_float) return a.i > b.i;
  return a.f > b.f || (a.f != a.f && b.f == b.f);
}

/* Merges runs of twice the length each time. */
void eval_argsort(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  int64_t n = x->type->dim[x->type->rank - 1];
  bool is_float = dtype_is_float(x->type->dtype), down = op->attr[AT_DESCENDING].i;
  Scalar *spare = ARENA_ARRAY(c->scratch, Scalar, n + 1);
  for (int64_t row = 0; n && row < x->type->numel / n; row++) {
    const Scalar *v = x->at + row * n;
    Scalar *at = y->at + row * n;
    for (int64_t i = 0; i < n; i++) at[i].i = i;
    for (int64_t run = 1; run < n; run *= 2) {
      for (int64_t from = 0; from < n; from += 2 * run) {
        int64_t mid = from + run < n ? from + run : n, end = mid + run < n ? mid + run : n;
        for (int64_t i = from, a = from, b = mid; i < end; i++) {
          bool right = a == mid;
          if (a < mid && b < end)
            right = down ? larger(is_float, v[at[b].i], v[at[a].i])
                         : larger(is_float, v[at[a].i], v[at[b].i]);
          spare[i] = right ? at[b++] : at[a++];
        }
      }
      memcpy(at, spare, sizeof *at * (size_t)n);
    }
  }
}
