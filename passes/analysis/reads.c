/* Reads and results of an op, with the loops around it and in it.
   Contract: pure questions of an entry; steps are those of a plan with times. */
#include "passes/plan/plan_impl.h"

int plan_nmade(const Op *op) {
  return op->nresults + (op->kind == OP_SCAN ? (int)op->blocks[0]->args.n : 0);
}

ValueId plan_made(const Op *op, int k) {
  return k < op->nresults ? op->results[k] : op->blocks[0]->args.at[k - op->nresults];
}

int plan_level(const Op *op) {
  int n = 0;
  for (const Op *o = op->parent->op; o; o = o->parent->op) n++;
  return n;
}

const Op *plan_yield(const Entry *e, const Op *op) {
  const Block *b = op->blocks[0];
  return op_at(e, b->ops.at[b->ops.n - 1]);
}

static bool within(const Block *b, const Op *op) {
  while (b->op && b->op != op) b = b->op->parent;
  return b->op == op;
}

void plan_captured(Arena *a, const Entry *e, const Op *op, ValueList *out) {
  if (op->kind != OP_SCAN) return; /* kernels are closed */
  VEC(const Op *) todo = {0};
  vec_push(a, &todo, op);
  while (todo.n) {
    const Block *b = todo.at[--todo.n]->blocks[0];
    for (uint32_t i = 0; i < b->ops.n; i++) {
      const Op *inner = op_at(e, b->ops.at[i]);
      for (int k = 0; k < inner->noperands; k++)
        if (!within(value_block(e, inner->operands[k]), op)) vec_push(a, out, inner->operands[k]);
      if (inner->kind == OP_SCAN) vec_push(a, &todo, inner);
    }
  }
}

void plan_reads(Arena *a, const Entry *e, const Op *op, ValueList *out) {
  out->n = 0;
  for (int i = 0; i < op->noperands; i++) vec_push(a, out, op->operands[i]);
  plan_captured(a, e, op, out);
}

void plan_task(const Plan *p, int t, int *begin, int *end) {
  while (p->steps[t]->parent->op) t--;
  *begin = t;
  while (t + 1 < p->nsteps && p->steps[t + 1]->parent->op) t++;
  *end = t;
}
