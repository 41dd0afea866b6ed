/* What every planning pass asks of an entry: what an op reads, what moves no bytes, what moves with
   a loop, how much arithmetic an op does, where globals lie.
   Contract: pure questions; nothing here decides. */
#include "ir/op/window.h"
#include "passes/plan/plan_impl.h"

/* ---- loops ---- */

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

ValueId plan_same(const Entry *e, ValueId v) {
  const Op *def = value_def(e, v);
  if (def) return plan_is_view(e, def) ? def->operands[0] : NO_ID;
  const Op *scan = value_block(e, v)->op;
  int k = (int)value_at(e, v)->index - 1;
  if (!scan || k < 0) return NO_ID;
  return k < scan->attr[AT_CARRIES].i ? scan->results[k] : scan->operands[k];
}

/* Adds what an iteration of the loop at this level moves by. */
static const int64_t *moved(Arena *a, const Plan *p, const int64_t *stride, int level,
                            uint64_t bytes) {
  int64_t *s = ARENA_ARRAY(a, int64_t, p->depth);
  if (stride) memcpy(s, stride, sizeof *s * (size_t)p->depth);
  s[level] += (int64_t)bytes;
  return s;
}

uint64_t plan_reach(const Place *x, const Block *b) {
  uint64_t end = x->offset + x->bytes;
  if (!x->stride) return end;
  for (const Op *scan = b->op; scan; scan = scan->parent->op)
    end += (uint64_t)((scan->attr[AT_TRIPS].i - 1) * x->stride[plan_level(scan)]);
  return end;
}

/* What iteration k of the scan has of a stacked tensor. */
static Place slice_of(Arena *a, const Plan *p, const Op *scan, const Place *whole) {
  Place x = *whole;
  x.bytes = whole->bytes / (uint64_t)scan->attr[AT_TRIPS].i;
  x.stride = moved(a, p, whole->stride, plan_level(scan), x.bytes);
  return x;
}

Place plan_target(const Entry *e, Arena *a, const Op *scan, int result) {
  const Place *y = &e->plan->place[scan->results[result]];
  return result < scan->attr[AT_CARRIES].i ? *y : slice_of(a, e->plan, scan, y);
}

/* The value is an iteration's slice of what `of` is the whole of. */
static bool is_slice(const Entry *e, ValueId v, ValueId of) {
  const Op *def = value_def(e, of), *around = value_block(e, v)->op;
  if (!value_def(e, v)) /* an argument */
    return around && plan_same(e, v) == of && value_at(e, v)->index > around->attr[AT_CARRIES].i;
  return def && def == around && value_at(e, of)->index >= def->attr[AT_CARRIES].i;
}

void plan_strides(Arena *a, const Entry *e, Plan *p) {
  for (int t = 0; t < p->nsteps; t++)
    for (int k = 0; k < plan_nmade(p->steps[t]); k++) {
      ValueId v = plan_made(p->steps[t], k);
      Place *x = &p->place[v];
      x->stride = NULL;
      if (x->how != HOW_INPLACE) {
        if (x->region == PLAN_COUNTS)
          x->stride = moved(a, p, NULL, plan_level(p->steps[t]), x->bytes);
        continue;
      }
      const Place *y = &p->place[x->of]; /* of a view of a counter, too */
      x->stride =
          is_slice(e, v, x->of) ? slice_of(a, p, value_block(e, v)->op, y).stride : y->stride;
    }
}

/* Rows that lie side by side, at a place that every target takes: all of them or all but one of
   many, so that it costs little to hold the whole for their sake. */
static bool rows_in_place(const Entry *e, const Op *op) {
  const Type *x = value_type(e, op->operands[0]), *y = value_type(e, op->results[0]);
  if (op->kind != OP_SLICE || !x->rank || !y->numel) return false;
  if (y->dim[0] < x->dim[0] && (x->dim[0] < PLAN_MANY_ROWS || y->dim[0] + 1 < x->dim[0]))
    return false;
  const Ints *start = op->attr[AT_STARTS].ints, *step = op->attr[AT_STEPS].ints;
  for (int i = 0; i < x->rank; i++)
    if (step->at[i] != 1 || (i && x->dim[i] != y->dim[i])) return false;
  return (uint64_t)start->at[0] * (x->bytes / (uint64_t)x->dim[0]) % PLAN_ROW_ALIGN == 0;
}

bool plan_is_view(const Entry *e, const Op *op) {
  return (op->kind == OP_RESHAPE || rows_in_place(e, op)) &&
         !value_at(e, op->operands[0])->layout && !value_at(e, op->results[0])->layout;
}

uint64_t plan_shift(const Entry *e, ValueId v) {
  uint64_t shift = 0;
  for (ValueId of; (of = plan_same(e, v)) != NO_ID; v = of) {
    const Op *def = value_def(e, v);
    const Type *t = value_type(e, of);
    if (def && def->kind == OP_SLICE)
      shift += (uint64_t)def->attr[AT_STARTS].ints->at[0] * (t->bytes / (uint64_t)t->dim[0]);
  }
  return shift;
}

bool plan_is_alias(const Entry *e, const Op *op) {
  const Plan *p = e->plan;
  if (op->kind == OP_RESHAPE || op->kind == OP_SLICE) {
    ValueId of = op->operands[0], v = op->results[0];
    if (!plan_is_view(e, op)) return false;
    if (!p) return true;
    const Place *x = &p->place[of], *y = &p->place[v];
    return x->region == y->region && x->offset - plan_shift(e, of) == y->offset - plan_shift(e, v);
  }
  if (op->kind != OP_STORE || !p) return false;
  const Place *x = &p->place[op->operands[0]];
  return x->region == PLAN_GLOBALS && x->global == (int)op->attr[AT_GLOBAL].i;
}

const char *plan_op_name(const Op *op) {
  if (op->kind == OP_KERNEL && op->attr[0].str) return op->attr[0].str;
  return op_info[op->kind].name;
}

const char *plan_commas(char *buf, uint64_t n) {
  char digits[24];
  int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), w = 0;
  for (int i = 0; i < len; i++) {
    if (i && (len - i) % 3 == 0) buf[w++] = ',';
    buf[w++] = digits[i];
  }
  buf[w] = 0;
  return buf;
}

/* ---- arithmetic ---- */

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
    int64_t k = a->dim[a->rank - (op->attr[AT_TA].i ? 2 : 1)];
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
  case CLASS_INDEX: return op->kind == OP_GATHER_GRAD ? numel(e, op->operands[0]) : 0;
  case CLASS_REGION:
    for (int k = 0; k < op->nblocks; k++)
      for (uint32_t i = 0; i < op->blocks[k]->ops.n; i++)
        sum += op_flops(e, op_at(e, op->blocks[k]->ops.at[i]));
    return op->kind == OP_SCAN ? (uint64_t)op->attr[AT_TRIPS].i * sum : sum;
  case CLASS_LEAF:
  case CLASS_GLOBAL:
  case CLASS_VIEW:
  case CLASS_META: return 0;
  }
  return 0;
}

/* Bytes are slow: a processor does about as many flops in the time that a byte takes. */
#define FLOPS_A_BYTE 8.0

bool plan_updates_part(const Plan *p, const Op *op) {
  if (op->kind != OP_DYNAMIC_UPDATE) return false;
  const Place *y = &p->place[op->results[0]];
  return y->how == HOW_INPLACE && y->of == op->operands[0];
}

double plan_work(const Entry *e, const Plan *p, const Op *op) {
  double work = op->kind == OP_SCAN ? 0 : (double)op_flops(e, op);
  if (plan_is_alias(e, op)) return 0;
  bool part = plan_updates_part(p, op);
  for (int k = part; k < op->noperands; k++)
    work += FLOPS_A_BYTE * (double)p->place[op->operands[k]].bytes;
  for (int k = 0; k < op->nresults; k++)
    work += FLOPS_A_BYTE * (double)p->place[part ? op->operands[1] : op->results[k]].bytes;
  for (const Op *scan = op->parent->op; scan; scan = scan->parent->op)
    work *= (double)scan->attr[AT_TRIPS].i;
  return work;
}

void plan_task(const Plan *p, int t, int *begin, int *end) {
  while (p->steps[t]->parent->op) t--;
  *begin = t;
  while (t + 1 < p->nsteps && p->steps[t + 1]->parent->op) t++;
  *end = t;
}

uint64_t plan_slack(const Target *t) {
  uint64_t slack = 0;
  return checked_align((uint64_t)t->slack, (uint64_t)t->align, &slack) ? slack : 0;
}

/* ---- globals ---- */

GlobalsPlan plan_globals(const Module *m, int align) {
  GlobalsPlan g = {.offset = ARENA_ARRAY(m->arena, uint64_t, m->globals.n + 1)};
  uint64_t hypers = 0, bytes;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *x = &m->globals.at[i];
    if (x->kind == GLOBAL_HYPER) {
      g.offset[i] = hypers;
      hypers += sizeof(float);
      continue;
    }
    g.offset[i] = g.bytes;
    if (!layout_bytes(x->type, x->layout, &bytes) || !checked_add(g.bytes, bytes, &g.bytes) ||
        !checked_align(g.bytes, (uint64_t)align, &g.bytes)) {
      diag(m->ctx, SEV_ERROR, x->loc, "the parameters and states need more than 2^64 bytes");
      g.bytes = UINT64_MAX;
      return g;
    }
  }
  return g;
}
