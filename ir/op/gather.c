/* Indexing by data: rows of a table by id, their gradient, and one_hot.
   Contract: ids are integers of any dtype. `batch` leading axes are equal in the table and the ids,
   and each index of them has its own table. An id out of range is a fault of the data, which stops
   the run with its position and value; one_hot gives zeros for it. */
#include "ir/op/op.h"

/* ---- shapes ---- */

static bool ids_are_ints(const ShapeIn *in, const Type *ids) {
  return dtype_is_int(ids->dtype) ||
         shape_wrong(in, "needs integer ids, not %s", shape_str(in, ids));
}

/* The leading axes that are batches are there in both, and equal. */
static bool batches_match(const ShapeIn *in, int64_t batch, const Type *t, const Type *ids) {
  if (batch < 0)
    return shape_wrong(in, "needs 0 or more leading axes that are tables apart, not %lld",
                       (long long)batch);
  bool fits = batch <= ids->rank && batch <= t->rank;
  for (int i = 0; fits && i < batch; i++) fits = t->dim[i] == ids->dim[i];
  return fits || shape_wrong(in, "needs %lld equal leading axes: rows %s against ids %s",
                             (long long)batch, shape_str(in, t), shape_str(in, ids));
}

const Type *shape_gather(const ShapeIn *in) {
  const Type *t = in->type[0], *ids = in->type[1];
  int64_t batch = in->attr[AT_BATCH].i;
  if (!ids_are_ints(in, ids)) return NULL;
  if (t->rank == 0) return shape_wrong(in, "needs a table with rows, not %s", shape_str(in, t));
  if (!batches_match(in, batch, t, ids)) return NULL;
  if (t->rank == batch)
    return shape_wrong(in, "needs tables with rows behind %lld leading axes, not %s",
                       (long long)batch, shape_str(in, t));
  int after = (int)batch + 1, rank = ids->rank + t->rank - after;
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, rank);
  for (int i = 0; i < ids->rank; i++) dim[i] = ids->dim[i];
  for (int i = after; i < t->rank; i++) dim[ids->rank + i - after] = t->dim[i];
  return shape_make(in, t->dtype, rank, dim);
}

const Type *shape_gather_grad(const ShapeIn *in) {
  if (in->n < 2 || in->n > 3) return shape_wrong(in, "takes 2 or 3 operands, not %d", in->n);
  const Type *dy = in->type[0], *ids = in->type[1];
  int64_t rows = in->attr[AT_ROWS].i, batch = in->attr[AT_BATCH].i;
  if (!ids_are_ints(in, ids)) return NULL;
  if (dy->dtype == DT_BOOL) return shape_wrong(in, "needs numbers, not %s", shape_str(in, dy));
  if (rows < 0) return shape_wrong(in, "needs at least 0 rows, not %lld", (long long)rows);
  bool fits = dy->rank >= ids->rank;
  for (int i = 0; fits && i < ids->rank; i++) fits = dy->dim[i] == ids->dim[i];
  if (!fits)
    return shape_wrong(in, "needs one row for every id: rows %s against ids %s", shape_str(in, dy),
                       shape_str(in, ids));
  if (!batches_match(in, batch, dy, ids)) return NULL;
  int rank = (int)batch + 1 + dy->rank - ids->rank;
  int64_t small[SMALL_RANK], *dim = shape_dims(in, small, rank);
  for (int i = 0; i < batch; i++) dim[i] = ids->dim[i];
  dim[batch] = rows;
  for (int i = (int)batch + 1; i < rank; i++) dim[i] = dy->dim[ids->rank + i - batch - 1];
  const Type *t = shape_make(in, dy->dtype, rank, dim);
  return in->n > 2 && !in->type[2]->extent ? shape_accumulator(in, t) : t;
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
  int64_t batch = op->attr[AT_BATCH].i;
  Attr attr[MAX_ATTRS] = {
      [AT_ROWS].i = value_type(g->e, op->operands[0])->dim[batch], [AT_BATCH].i = batch};
  const Type *table = type_with_dtype(g->e->module->ctx, value_type(g->e, op->operands[0]),
                                      value_type(g->e, dy)->dtype);
  grad_to(g, op, 0, build(g->b, OP_GATHER_GRAD, in, 2, attr, table->extent ? table : NULL));
}

void grad_gather_grad(GradCtx *g, const Op *op, ValueId dz) {
  if (op_accumulator(op) >= 0) grad_to(g, op, op_accumulator(op), dz);
  if (!grad_wants(g, op, 0)) return;
  Attr attr[MAX_ATTRS] = {[AT_BATCH].i = op->attr[AT_BATCH].i};
  grad_to(g, op, 0, build(g->b, OP_GATHER, (ValueId[2]){dz, op->operands[1]}, 2, attr, NULL));
}

/* ---- evaluation ---- */

/* The row, in all tables together, that the id at a position names, or -1 after a fault. */
static int64_t row_at(EvalCtx *c, const Tensor *ids, int64_t i, int64_t batch, int64_t rows) {
  int64_t id = ids->at[i].i, each = 1; /* ids of one table */
  for (int k = (int)batch; k < ids->type->rank; k++) each *= ids->type->dim[k];
  if (id >= 0 && id < rows) return i / each * rows + id;
  eval_fault(c, "id %lld at position %lld is not in a table of %lld rows", (long long)id,
             (long long)i, (long long)rows);
  return -1;
}

void eval_gather(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *ids = eval_in(c, op, 1);
  Tensor *y = eval_out(c, op);
  int64_t n = ids->type->numel, width = n ? y->type->numel / n : 0, batch = op->attr[AT_BATCH].i;
  for (int64_t i = 0; i < n; i++) {
    int64_t row = row_at(c, ids, i, batch, x->type->dim[batch]);
    if (row < 0) return;
    for (int64_t j = 0; j < width; j++) y->at[i * width + j] = x->at[row * width + j];
  }
}

void eval_gather_grad(EvalCtx *c, const Op *op) {
  const Tensor *dy = eval_in(c, op, 0), *ids = eval_in(c, op, 1);
  Tensor *dx = eval_out(c, op);
  int64_t n = ids->type->numel, width = n ? dy->type->numel / n : 0;
  bool is_float = dtype_is_float(dx->type->dtype);
  const Tensor *before = op_accumulator(op) >= 0 ? eval_in(c, op, op_accumulator(op)) : NULL;
  for (int64_t i = 0; before && i < dx->type->numel; i++) dx->at[i] = before->at[i];
  for (int64_t i = 0; i < n; i++) {
    int64_t row = row_at(c, ids, i, op->attr[AT_BATCH].i, op->attr[AT_ROWS].i);
    if (row < 0) return;
    for (int64_t j = 0; j < width; j++) {
      Scalar *acc = &dx->at[row * width + j], v = dy->at[i * width + j];
      if (is_float)
        acc->f += v.f;
      else
        acc->i = (int64_t)((uint64_t)acc->i + (uint64_t)v.i);
    }
  }
  eval_round(c, dx);
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
