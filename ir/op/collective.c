/* Collectives: communication between the ranks of a data-parallel program (MPI Forum, MPI 4.1,
   chapter 6). Contract: a rank waits in one until all others have reached it; the pass distribute
   puts them where every rank does. They have no gradients: they are inserted behind autodiff.
   to_local and from_local, which have some, say in front of it where each rank has a value of its
   own, as those of DTensor do (PyTorch). */
#include "ir/op/op.h"

const Type *shape_first_row(const ShapeIn *in) {
  const Type *t = type_scalar(in->ctx, DT_I32);
  return in->given == t ? t : shape_wrong(in, "is an i32[]");
}

const Type *shape_all_reduce(const ShapeIn *in) {
  if (in->result >= in->n) return shape_wrong(in, "has more results than operands");
  const Type *t = in->type[in->result];
  bool sums = t->dtype == DT_F32 || t->dtype == DT_F64 || t->dtype == DT_I32 || t->dtype == DT_I64;
  if (!sums) return shape_wrong(in, "adds f32, f64, i32 or i64, not %s", shape_str(in, t));
  if (t->dtype == in->type[0]->dtype) return t;
  return shape_wrong(in, "has operands of several dtypes: %s and %s", shape_str(in, in->type[0]),
                     shape_str(in, t));
}

/* `whole` is a number of `part`s along an axis; along the first one the last parts may be short. */
static bool has_parts(const Type *whole, const Type *part, int64_t axis) {
  if (axis < 0 || axis >= part->rank || part->rank != whole->rank || part->dtype != whole->dtype)
    return false;
  for (int i = 0; i < part->rank; i++)
    if (i != axis ? whole->dim[i] != part->dim[i]
        : axis    ? part->dim[i] == 0 || whole->dim[i] % part->dim[i] != 0
                  : !slice_fits(whole->dim[i], part->dim[i]))
      return false;
  return true;
}

/* Rows of axis 0 that rank r has of n in runs of `part`. */
static int64_t run_rows(int64_t n, int64_t part, int64_t r) {
  int64_t left = n - r * part;
  return left < 0 ? 0 : left < part ? left : part;
}

/* The ranks are as many as the operand has parts. */
const Type *shape_reduce_scatter(const ShapeIn *in) {
  const Type *t = in->type[0], *y = in->given;
  if (!y) return shape_given(in);
  if (!shape_all_reduce(in)) return NULL;
  if (has_parts(t, y, 0)) return y;
  return shape_wrong(in, "cannot make %s of %s", shape_str(in, y), shape_str(in, t));
}

/* The ranks are as many as the result has parts. */
const Type *shape_all_gather(const ShapeIn *in) {
  const Type *t = in->type[0], *y = in->given;
  int64_t axis = in->attr[AT_AXIS].i;
  if (!y) return shape_given(in);
  if (has_parts(y, t, axis)) return y;
  return shape_wrong(in, "cannot make %s of %s along axis %lld", shape_str(in, y), shape_str(in, t),
                     (long long)axis);
}

const Type *shape_collective_broadcast(const ShapeIn *in) {
  int64_t root = in->attr[AT_ROOT].i;
  return root >= 0 ? in->type[0] : shape_wrong(in, "has no rank %lld", (long long)root);
}

/* ---- what a rank has of its own ---- */

const Type *shape_to_local(const ShapeIn *in) {
  const Type *t = in->type[0];
  if (dtype_is_float(t->dtype)) return t;
  return shape_wrong(in, "needs floats, not %s", shape_str(in, t));
}

/* By the inner product of the ranks' own values that weighs each rank by its rows, the two are each
   other's transpose, as a sum over a rank's rows and the broadcast to them are. */
void grad_to_local(GradCtx *g, const Op *op, ValueId dy) {
  grad_to(g, op, 0, build1(g->b, OP_FROM_LOCAL, dy));
}

void grad_from_local(GradCtx *g, const Op *op, ValueId dy) {
  grad_to(g, op, 0, build1(g->b, OP_TO_LOCAL, dy));
}

/* Of one process. */
ValueId expand_to_local(Builder *b, const Op *op, const Type *to, const ValueId *x) {
  (void)b, (void)op, (void)to;
  return x[0];
}

/* ---- evaluation ---- */

void eval_first_row(EvalCtx *c, const Op *op) { eval_out(c, op)->at[0].i = c->it->first_row; }

void eval_rank(EvalCtx *c, const Op *op) { eval_out(c, op)->at[0].i = c->it->rank; }

/* y = the sums of all from the element `from` on, in the order of the ranks, each rounded; zero
   behind the last one. */
static void sum_ranks(EvalCtx *c, Tensor *y, const Tensor *const *x, int64_t from) {
  Dtype dt = y->type->dtype;
  for (int64_t i = 0; i < y->type->numel; i++) {
    if (from + i >= x[0]->type->numel) {
      y->at[i] = (Scalar){0};
      continue;
    }
    Scalar s = x[0]->at[from + i];
    for (int r = 1; r < ranks_of(c); r++) {
      Scalar more = x[r]->at[from + i];
      if (dtype_is_float(dt))
        s.f += more.f;
      else
        s.i = (int64_t)((uint64_t)s.i + (uint64_t)more.i);
      s = scalar_round(s, dt, c->it->mode);
    }
    y->at[i] = s;
  }
}

void eval_all_reduce(EvalCtx *c, const Op *op) {
  for (int i = 0; i < op->noperands; i++) {
    const Tensor *const *x = ranks_meet(c, eval_in(c, op, i));
    if (!x) return;
    sum_ranks(c, eval_out_of(c, op, i), x, 0);
    ranks_leave(c);
  }
}

void eval_reduce_scatter(EvalCtx *c, const Op *op) {
  const Tensor *const *x = ranks_meet(c, eval_in(c, op, 0));
  if (!x) return;
  Tensor *y = eval_out(c, op);
  if (y->type->dim[0] != slice_rows(x[0]->type->dim[0], ranks_of(c)))
    eval_fault(c, "reduce_scatter makes %d parts %s of %s", ranks_of(c),
               type_str(c->it->m->ctx, y->type), type_str(c->it->m->ctx, x[0]->type));
  else
    sum_ranks(c, y, x, c->it->rank * y->type->numel);
  ranks_leave(c);
}

void eval_all_gather(EvalCtx *c, const Op *op) {
  const Tensor *const *x = ranks_meet(c, eval_in(c, op, 0));
  if (!x) return;
  Tensor *y = eval_out(c, op);
  int64_t axis = op->attr[AT_AXIS].i, outer = 1, part = 1;
  const Type *t = x[0]->type;
  if (axis ? y->type->dim[axis] != t->dim[axis] * ranks_of(c)
           : t->dim[0] != slice_rows(y->type->dim[0], ranks_of(c)))
    eval_fault(c, "all_gather makes %s of %d parts %s", type_str(c->it->m->ctx, y->type),
               ranks_of(c), type_str(c->it->m->ctx, t));
  for (int i = 0; i < axis; i++) outer *= t->dim[i];
  for (int i = (int)axis; i < t->rank; i++) part *= t->dim[i];
  for (int64_t o = 0; o < outer && !c->it->why[0]; o++)
    for (int r = 0; r < ranks_of(c); r++) {
      int64_t n = axis ? part : run_rows(y->type->dim[0], t->dim[0], r) * (part / t->dim[0]);
      if (n)
        memcpy(y->at + (o * ranks_of(c) + r) * part, x[r]->at + o * part,
               sizeof(Scalar) * (size_t)n);
    }
  ranks_leave(c);
}

void eval_collective_broadcast(EvalCtx *c, const Op *op) {
  const Tensor *const *x = ranks_meet(c, eval_in(c, op, 0));
  if (!x) return;
  Tensor *y = eval_out(c, op);
  int64_t root = op->attr[AT_ROOT].i;
  if (root < ranks_of(c))
    memcpy(y->at, x[root]->at, sizeof(Scalar) * (size_t)y->type->numel);
  else
    eval_fault(c, "collective_broadcast is of rank %lld of %d", (long long)root, ranks_of(c));
  ranks_leave(c);
}
