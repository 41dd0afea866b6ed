/* Random numbers, and dropout.
   Contract: numbers are a function of (seed, step, key, draw, position), see interp.h, and do not
   depend on the order of ops. */
#include "ir/op/op.h"

#include <math.h>

const Type *shape_random(const ShapeIn *in) {
  const Type *t = in->given;
  if (!t) return shape_given(in);
  if (!dtype_is_float(t->dtype)) return shape_wrong(in, "gives floats, not %s", shape_str(in, t));
  if (!in->attr[AT_KEY].str) return shape_wrong(in, "needs a key");
  if (in->n > 1 || (in->n && (in->type[0]->dtype != DT_I32 || in->type[0]->rank)))
    return shape_wrong(in, "takes nothing but the number of the draw, i32[]");
  return t;
}

const Type *shape_dropout(const ShapeIn *in) {
  if (in->n < 1 || in->n > 2) return shape_wrong(in, "takes 1 or 2 operands, not %d", in->n);
  const Type *t = in->type[0];
  double keep = in->attr[AT_KEEP].f;
  if (!dtype_is_float(t->dtype)) return shape_wrong(in, "needs floats, not %s", shape_str(in, t));
  if (!(keep > 0 && keep <= 1)) return shape_wrong(in, "keeps more than 0 and at most 1");
  if (!in->attr[AT_KEY].str) return shape_wrong(in, "needs a key");
  if (in->n == 2 && (in->type[1]->dtype != DT_I32 || !type_same_dims(in->type[1], t)))
    return shape_wrong(in, "needs the number of the draw as i32 in the shape of %s, not %s",
                       shape_str(in, t), shape_str(in, in->type[1]));
  return t;
}

/* The same elements of dy, at the same scale: the mask is recomputed from key and position. */
void grad_dropout(GradCtx *g, const Op *op, ValueId dy) {
  ValueId in[2] = {dy, op->noperands > 1 ? op->operands[1] : NO_ID};
  grad_to(g, op, 0, build(g->b, OP_DROPOUT, in, op->noperands, op->attr, NULL));
}

/* ---- evaluation ---- */

static double unit(uint32_t word, int add) { return ((word >> 8) + add) * 0x1p-24; }

void eval_dropout(EvalCtx *c, const Op *op) {
  const Tensor *x = eval_in(c, op, 0), *place = op->noperands > 1 ? eval_in(c, op, 1) : NULL;
  Tensor *y = eval_out(c, op);
  uint64_t hash = random_hash(op->attr[AT_KEY].str), step = c->it->step;
  uint64_t draw = (uint64_t)op->attr[AT_DRAW].i;
  double keep = op->attr[AT_KEEP].f;
  uint32_t word[4] = {0};
  int64_t first = c->it->first_row * op->attr[AT_ROW_ELEMENTS].i;
  for (int64_t i = 0; i < y->type->numel; i++) {
    uint64_t at = (uint64_t)(first + i), p = at / 4;
    uint32_t counter[4] = {(uint32_t)p, (uint32_t)(p >> 32), (uint32_t)step,
                           (uint32_t)(step >> 32)};
    uint64_t key = random_key(hash, draw + (place ? (uint32_t)place->at[i].i : 0));
    if (place || i == 0 || at % 4 == 0) philox4x32(c->it->seed ^ key, counter, word);
    double v = unit(word[at % 4], 0) < keep ? x->at[i].f / keep : 0;
    y->at[i] = scalar_round((Scalar){.f = v}, y->type->dtype, c->it->mode);
  }
}

void eval_random(EvalCtx *c, const Op *op) {
  Tensor *y = eval_out(c, op);
  uint64_t draw = (uint64_t)op->attr[AT_DRAW].i, step = c->it->step;
  if (op->noperands) draw += (uint32_t)eval_in(c, op, 0)->at[0].i;
  uint64_t key = c->it->seed ^ random_key(random_hash(op->attr[AT_KEY].str), draw);
  uint32_t word[4] = {0};
  for (int64_t i = 0; i < y->type->numel; i++) {
    uint64_t p = (uint64_t)i / 4;
    int k = (int)(i % 4), pair = k & ~1;
    uint32_t counter[4] = {(uint32_t)p, (uint32_t)(p >> 32), (uint32_t)step,
                           (uint32_t)(step >> 32)};
    if (k == 0) philox4x32(key, counter, word);
    double v = unit(word[k], 0);
    if (op->kind == OP_RANDOM_NORMAL) {
      double angle = 2 * M_PI * unit(word[pair + 1], 0);
      v = sqrt(-2 * log(unit(word[pair], 1))) * (k & 1 ? sin(angle) : cos(angle));
    }
    y->at[i] = scalar_round((Scalar){.f = v}, y->type->dtype, c->it->mode);
  }
}
