/* Accesses of a step: the storages and globals that it reads and writes. Contract: the plan has
   in-place decisions and storages. An op that moves nothing only names the bytes. */
#include "passes/plan/plan_impl.h"

static void add(Arena *a, const Plan *p, const Storages *s, ValueId v, bool write, bool moves,
                StepAccessList *out) {
  const Place *x = &p->place[v];
  int object = s->storage[v];
  if (object < 0 && x->region == PLAN_GLOBALS && x->global >= 0) object = s->b.n + x->global;
  if (object >= 0) vec_push(a, out, (StepAccess){object, write, moves});
}

void plan_accesses(Arena *a, const Entry *e, const Plan *p, const Storages *s, const Op *op,
                   StepAccessList *out) {
  out->n = 0;
  bool moves = !plan_is_alias(e, op), loop = op->kind == OP_SCAN;
  int carries = loop ? scan_carries(op) : 0;
  /* A loop reads what it scans though its body may not: a later write must wait for it. */
  for (int k = 0; k < op->noperands; k++) add(a, p, s, op->operands[k], false, moves, out);
  for (int k = 0; k < (loop ? carries : op->nresults); k++)
    if (moves) add(a, p, s, op->results[k], true, true, out);
  if (op->kind == OP_YIELD && op->parent->op)
    for (int k = 0; k < op->noperands; k++)
      add(a, p, s, op->parent->op->results[k], true, true, out);
  if (op->kind == OP_STORE && moves)
    vec_push(a, out, (StepAccess){s->b.n + (int)op->attr[AT_GLOBAL].i, true, true});
  if (p->scratch[op->id].bytes) vec_push(a, out, (StepAccess){s->scratch[op->id], true, true});
}
