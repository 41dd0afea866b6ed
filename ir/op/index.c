/* Addresses from data: rows of a table by id, their gradient, and one_hot.
   Contract: ids are integers of any dtype. An id out of range is a fault of the data that stops the
   run with its place and value; one_hot alone gives zeros for it. */
#include "ir/op/op.h"

/* ---- shapes ---- */

static bool ids_are_ints(const ShapeIn *in, const Type *ids) {
  return dtype_is_int(ids->dtype) ||
         shape_wrong(in, "needs integer ids, not %s", shape_str(in, ids));
}

const Type *shape_gather(const ShapeIn *in) {
  const Type *t = in->type[0], *ids = in->type[1];
  if (!ids_are_ints(in, ids)) return NULL;
  if (t->rank == 0) return shape_wrong(in, "needs a table with rows, not %s", shape_str(in, t));
  int rank = ids->rank + t->rank - 1;
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, rank);
  for (int i = 0; i < ids->rank; i++) dim[i] = ids->dim[i];
  for (int i = 1; i < t->rank; i++) dim[ids->rank + i - 1] = t->dim[i];
  return shape_make(in, t->dtype, rank, dim);
}

const Type *shape_gather_grad(const ShapeIn *in) {
  const Type *dy = in->type[0], *ids = in->type[1];
  int64_t depth = in->attr[AT_DEPTH].i;
  if (!ids_are_ints(in, ids)) return NULL;
  if (dy->dtype == DT_BOOL) return shape_wrong(in, "needs numbers, not %s", shape_str(in, dy));
  if (depth < 0) return shape_wrong(in, "needs a depth of at least 0, not %lld", (long long)depth);
  bool fits = dy->rank >= ids->rank;
  for (int i = 0; fits && i < ids->rank; i++) fits = dy->dim[i] == ids->dim[i];
  if (!fits)
    return shape_wrong(in, "needs one row for every id: rows %s against ids %s", shape_str(in, dy),
                       shape_str(in, ids));
  int rank = dy->rank - ids->rank + 1;
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, rank);
  dim[0] = depth;
  for (int i = 1; i < rank; i++) dim[i] = dy->dim[ids->rank + i - 1];
  return shape_make(in, dy->dtype, rank, dim);
}

const Type *shape_one_hot(const ShapeIn *in) {
  const Type *ids = in->type[0], *to = in->given;
  int64_t depth = in->attr[AT_DEPTH].i;
  if (!to) return shape_given(in);
  if (!ids_are_ints(in, ids)) return NULL;
  bool fits = to->rank == ids->rank + 1 && to->dim[ids->rank] == depth;
  for (int i = 0; fits && i < ids->rank; i++) fits = to->dim[i] == ids->dim[i];
  if (!fits)
    return shape_wrong(in, "of ids %s with depth %lld cannot give %s", shape_str(in, ids),
                       (long long)depth, shape_str(in, to));
  return to;
}

/* ---- gradients ---- */

void grad_gather(GradCtx *g, const Op *op, ValueId dy) {
  if (!grad_wants(g, op, 0)) return;
  ValueId in[2] = {dy, op->operands[1]};
  Attr attr[MAX_ATTRS] = {[AT_DEPTH].i = value_type(g->e, op->operands[0])->dim[0]};
  grad_to(g, op, 0, build(g->b, OP_GATHER_GRAD, in, 2, attr, NULL));
}

void grad_gather_grad(GradCtx *g, const Op *op, ValueId dz) {
  if (!grad_wants(g, op, 0)) return;
  grad_to(g, op, 0, build(g->b, OP_GATHER, (ValueId[2]){dz, op->operands[1]}, 2, NULL, NULL));
}

/* ---- evaluation ---- */

/* The id at a position, or -1 after a fault. */
static int64_t id_at(EvalCtx *c, const Tensor *ids, int64_t i, int64_t rows) {
  int64_t id = ids->at[i].i;
  if (id >= 0 && id < rows) return id;
  eval_fault(c, "id %lld at position %lld is not in a table of %lld rows", (long long)id,
             (long long)i, (long long)rows);
  return -1;
}

void eval_gather(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *ids = eval_in(c, op, 1);
  Tensor *y = eval_out(c, op);
  int64_t n = ids->type->numel, width = n ? y->type->numel / n : 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t id = id_at(c, ids, i, x->type->dim[0]);
    if (id < 0) return;
    for (int64_t j = 0; j < width; j++) y->at[i * width + j] = x->at[id * width + j];
  }
}

void eval_gather_grad(EvalCtx *c, const Op *op) {
  const Tensor *dy = eval_in(c, op, 0), *ids = eval_in(c, op, 1);
  Tensor *dx = eval_out(c, op);
  int64_t n = ids->type->numel, width = n ? dy->type->numel / n : 0;
  bool real = dtype_is_float(dx->type->dtype);
  for (int64_t i = 0; i < n; i++) {
    int64_t id = id_at(c, ids, i, dx->type->dim[0]);
    if (id < 0) return;
    for (int64_t j = 0; j < width; j++) {
      Scalar *acc = &dx->at[id * width + j], v = dy->at[i * width + j];
      if (real)
        acc->f += v.f;
      else
        acc->i = (int64_t)((uint64_t)acc->i + (uint64_t)v.i);
    }
  }
  for (int64_t i = 0; i < dx->type->numel; i++)
    dx->at[i] = scalar_round(dx->at[i], dx->type->dtype, c->it->mode);
}

void eval_one_hot(EvalCtx *c, const Op *op) {
  const Tensor *ids = eval_in(c, op, 0);
  Tensor *y = eval_out(c, op);
  int64_t depth = op->attr[AT_DEPTH].i;
  Scalar one = dtype_is_float(y->type->dtype) ? (Scalar){.f = 1} : (Scalar){.i = 1};
  for (int64_t i = 0; i < ids->type->numel; i++) {
    int64_t id = ids->at[i].i;
    if (id >= 0 && id < depth) y->at[i * depth + id] = one;
  }
}
