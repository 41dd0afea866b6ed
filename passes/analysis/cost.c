/* How much arithmetic an op does, how long a step works, and how long ranks talk.
   Contract: pure questions; contractions count 2MNK, element-wise ops 1 an element. Collectives are
   those of Thakur, Rabenseifner and Gropp (2005): a reduce-scatter or an all-gather sends (n - 1)/n
   of its bytes in log n messages, and an all-reduce is both. */
#include "ir/op/window.h"
#include "ir/update.h"
#include "passes/plan/plan_impl.h"

enum { ROW_PASSES = 4 }; /* softmax and its kin: largest, exp, sum, scale */

static uint64_t numel(const Entry *e, ValueId v) { return (uint64_t)value_type(e, v)->numel; }

/* A product and a sum for every tap of a filter, one step for every pixel of a pool's window. */
static uint64_t window_flops(const Entry *e, const Op *op) {
  if (op->kind != OP_CONV && op->kind != OP_CONV_INPUT_GRAD && op->kind != OP_CONV_FILTER_GRAD) {
    PoolGeom p = pool_geom(e, op);
    return (uint64_t)(p.y->numel * p.h.taps * p.w.taps);
  }
  ConvGeom c = conv_geom(e, op);
  return 2 * (uint64_t)(c.y->numel * c.gin * c.h.taps * c.w.taps);
}

uint64_t op_flops(const Entry *e, const Op *op) {
  uint64_t sum = 0;
  switch (op_info[op->kind].cls) {
  case CLASS_ELEMENT: return numel(e, op->results[0]);
  case CLASS_REDUCE: return numel(e, op->operands[0]);
  case CLASS_ROWS: {
    for (int i = 0; i < op->noperands; i++)
      if (numel(e, op->operands[i]) > sum) sum = numel(e, op->operands[i]);
    return ROW_PASSES * sum;
  }
  case CLASS_CONTRACT: {
    const Type *a = value_type(e, op->operands[0]);
    bool ta = op->kind == OP_MATMUL && op->attr[AT_TA].i;
    int64_t k = a->dim[a->rank - (ta ? 2 : 1)];
    return 2 * (uint64_t)k * numel(e, op->results[0]);
  }
  case CLASS_WINDOW: return window_flops(e, op);
  case CLASS_COMPOSITE: return ROW_PASSES * numel(e, op->operands[0]);
  case CLASS_ATTENTION: { /* products of T by S, of a causal one half */
    bool grad = op->kind == OP_ATTENTION_GRAD;
    const Type *q = value_type(e, op->operands[grad]), *v = value_type(e, op->operands[grad + 2]);
    uint64_t d = (uint64_t)q->dim[q->rank - 1], s = (uint64_t)v->dim[v->rank - 2];
    uint64_t width = (grad ? 3 : 1) * d + (grad ? 2 : 1) * (uint64_t)v->dim[v->rank - 1];
    uint64_t rows = d ? (uint64_t)q->numel / d : 0;
    return 2 * rows * s * width / (op->attr[AT_CAUSAL].i ? 2 : 1);
  }
  case CLASS_ORDER: {
    const Type *t = value_type(e, op->operands[0]);
    uint64_t steps = 1; /* of a sort: merges */
    if (op->kind == OP_ARGSORT)
      for (int64_t n = 1; n < t->dim[t->rank - 1]; n *= 2) steps++;
    return steps * (uint64_t)t->numel;
  }
  case CLASS_INDEX: /* of suppression: the scores in a heap, and some boxes beside some others */
    if (op->kind == OP_NMS) return 8 * (numel(e, op->operands[1]) + numel(e, op->results[0]));
    return op->kind == OP_GATHER_GRAD ? numel(e, op->operands[0]) : 0;
  case CLASS_REGION:
    for (int k = 0; k < op->nblocks; k++)
      for (uint32_t i = 0; i < op->blocks[k]->ops.n; i++)
        sum += op_flops(e, op_at(e, op->blocks[k]->ops.at[i]));
    return op->kind == OP_SCAN ? (uint64_t)scan_trips(op) * sum : sum;
  case CLASS_LEAF:
  case CLASS_GLOBAL:
  case CLASS_COLLECTIVE:
  case CLASS_VIEW:
  case CLASS_META: return 0;
  }
  return 0;
}

static double speedup(const Target *t, const Entry *e, const Op *op) {
  const OpClass cls = op_info[op->kind].cls;
  bool pools = cls == CLASS_WINDOW && op->kind != OP_CONV && op->kind != OP_CONV_INPUT_GRAD &&
               op->kind != OP_CONV_FILTER_GRAD;
  if (t->narrow <= 0 || pools ||
      (cls != CLASS_CONTRACT && cls != CLASS_WINDOW && cls != CLASS_ATTENTION))
    return 1;
  if (dtype_size(value_type(e, op->operands[0])->dtype) == 2) return t->narrow;
  bool tf32 = cls == CLASS_WINDOW     ? op->attr[AT_TF32_OPERANDS].i
              : op->kind == OP_MATMUL ? op->attr[AT_TF32].i
                                      : false;
  return tf32 ? t->narrow / 2 : 1;
}

double op_slow_flops(const Target *t, const Entry *e, const Op *op) {
  double sum = 0;
  if (op->kind != OP_KERNEL) return (double)op_flops(e, op) / speedup(t, e, op);
  for (uint32_t i = 0; i < op->blocks[0]->ops.n; i++)
    sum += op_slow_flops(t, e, op_at(e, op->blocks[0]->ops.at[i]));
  return sum;
}

double plan_work(const Target *t, const Entry *e, const Plan *p, const Op *op) {
  double work = op->kind == OP_SCAN ? 0 : op_slow_flops(t, e, op);
  if (plan_is_alias(e, op)) return 0;
  const bool part = plan_updates_part(e, p, op);
  for (int k = 0; k < op->noperands; k++)
    if (!part || k != op_updated(e, op))
      work += FLOPS_A_BYTE * (double)p->place[op->operands[k]].bytes;
  for (int k = 0; k < op->nresults; k++)
    work += FLOPS_A_BYTE * (double)(part ? value_type(e, op_update(e, op)->operands[1])->bytes
                                         : p->place[op->results[k]].bytes);
  for (const Op *scan = op->parent->op; scan; scan = scan->parent->op)
    work *= (double)scan_trips(scan);
  return work;
}

/* ---- links ---- */

double link_seconds_of(const Link *l, OpKind kind, int ranks, double bytes) {
  int messages = 0;
  if (ranks <= 1) return 0;
  while (1 << messages < ranks) messages++;
  double share = kind == OP_COLLECTIVE_BROADCAST ? 1 : (ranks - 1.0) / ranks;
  return (kind == OP_ALL_REDUCE ? 2 : 1) * (messages * l->latency + share * bytes / l->bandwidth);
}

static double link_seconds(const Link *l, const Entry *e, const Op *op) {
  double bytes = 0;
  bool gathers = op->kind == OP_ALL_GATHER;
  for (int i = 0; i < op->noperands; i++)
    bytes += (double)value_type(e, gathers ? op->results[i] : op->operands[i])->bytes;
  return link_seconds_of(l, op->kind, e->ranks, bytes);
}

Link link_of(const PassOptions *o) {
  return o->link.bandwidth > 0 || !o->target ? o->link : o->target->link;
}

double link_work(const PassOptions *o, const Entry *e, const Op *op) {
  const Link l = link_of(o);
  return o->target->speed * link_seconds(&l, e, op);
}
