/* The schedules of one pair of loops: what an iteration needs to be recomputed, what that takes,
   and the schedules that are better than others in bytes or in work; see loops.c. */
#include "passes/remat/loops_impl.h"

#include <math.h>
#include <stdlib.h>

enum {
  LENGTHS = 256, /* of stacks that are tried */
  STEPS = 16,    /* in which all stacks are dropped, if there are more */
  APART = 64     /* schedules of a pair are at least 1/64 of its bytes apart */
};

/* What takes at most this part of a loop's work is nearly free. */
static const double FREE = 0.02;

/* ---- what an iteration needs to recompute what was dropped ---- */

typedef struct LoopCost {
  const LoopFinder *f;
  const LoopPair *p;
  const bool *dropped;
  bool by_blocks;    /* a carry comes from the iteration before, else from a stack of its own */
  uint32_t *seen, n; /* by value: == n */
  uint32_t *ran;     /* by op: == n */
  bool *carry;       /* those that are kept */
  ValueList todo;
  double flops, cost; /* of an iteration */
  double longer;      /* bytes from outside that would be dead by then */
  /* Stacks dropped at almost no work, by result; NULL: none. Bytes of the carries kept for it.
   */
  const bool *free;
  double free_carry;
} LoopCost;

static void need(LoopCost *w, ValueId v) {
  if (w->seen[v] == w->n) return;
  w->seen[v] = w->n;
  vec_push(w->f->a, &w->todo, v);
}

static void need_from_outside(LoopCost *w, ValueId v) {
  ValueId root = w->f->root[v];
  const Op *def = value_def(w->f->e, root);
  if (!def || def->kind == OP_LOAD) return; /* an input, a global */
  if (w->f->last[root] < w->f->position[w->p->backward->id])
    w->longer += loop_bytes_of(w->f->e, root);
}

/* The stack of the value that stays; NO_ID: none. */
static bool is_stacked(const LoopCost *w, ValueId v) {
  for (int k = scan_carries(w->p->forward); k < w->p->forward->nresults; k++)
    if (w->p->forward_end->operands[k] == v && !w->dropped[k] &&
        (w->p->droppable[k] || w->p->alive[k]))
      return true;
  return false;
}

static void need_argument(LoopCost *w, const Value *x) {
  int k = (int)x->index - 1;
  if (k < 0) return;
  if (k >= scan_carries(w->p->forward)) {
    need_from_outside(w, w->p->forward->operands[k]);
    return;
  }
  w->carry[k] = true;
  if (w->by_blocks) need(w, w->p->forward_end->operands[k]);
}

/* The kernel returns this value of its block as well, and it is stacked: the recomputation reads
   it. */
static bool is_given_out(LoopCost *w, const Op *kernel, ValueId v) {
  const Op *yield = plan_yield(w->f->e, kernel);
  for (int k = 0; k < kernel->nresults; k++)
    if (yield->operands[k] == v && is_stacked(w, kernel->results[k])) return true;
  return false;
}

static void need_bytes(LoopCost *w, ValueId v) {
  w->cost += STEP_FLOPS_A_BYTE * loop_bytes_of(w->f->e, v);
}

/* An op of the loop's body, or of a kernel, of which just what is needed will be left. */
static void need_op(LoopCost *w, const Op *op, bool in_kernel) {
  const Entry *e = w->f->e;
  if (w->ran[op->id] == w->n) return;
  w->ran[op->id] = w->n;
  ValueList reads = {0};
  plan_reads(w->f->a, e, op, &reads);
  double flops = (double)op_flops(e, op);
  w->flops += flops;
  w->cost += flops;
  for (uint32_t k = 0; k < reads.n; k++) need(w, reads.at[k]);
  if (in_kernel || plan_is_view(e, op)) return;
  for (uint32_t k = 0; k < reads.n; k++) need_bytes(w, reads.at[k]);
  for (int k = 0; k < op->nresults; k++) need_bytes(w, op->results[k]);
}

static void need_value(LoopCost *w, ValueId v) {
  const Entry *e = w->f->e;
  const Value *x = value_at(e, v);
  const Block *b = value_block(e, v), *body = w->p->forward->blocks[0];
  const Op *op = x->def == NO_ID ? NULL : op_at(e, x->def);
  bool in_kernel = b->op && b->op->kind == OP_KERNEL;
  if (in_kernel && !op) {
    need(w, b->op->operands[x->index]);
    need_bytes(w, b->op->operands[x->index]);
  } else if (in_kernel && is_given_out(w, b->op, v)) {
    need_bytes(w, v);
  } else if (b == body && op && op->kind == OP_KERNEL) {
    need(w, plan_yield(e, op)->operands[x->index]);
    need_bytes(w, v);
  } else if (in_kernel || (b == body && op)) {
    need_op(w, op, in_kernel);
  } else if (b == body) {
    need_argument(w, x);
  } else {
    need_from_outside(w, v);
  }
}

static void find_need(LoopCost *w) {
  const Op *forward = w->p->forward;
  w->n++;
  w->flops = w->cost = w->longer = 0;
  memset(w->carry, 0, sizeof *w->carry * (size_t)scan_carries(forward));
  for (int k = scan_carries(forward); k < forward->nresults; k++)
    if (w->dropped[k]) need(w, w->p->forward_end->operands[k]);
  while (w->todo.n) {
    ValueId v = w->todo.at[--w->todo.n];
    if (!is_stacked(w, v)) need_value(w, v);
  }
}

/* ---- schedules of one pair ---- */

static double row_bytes(const LoopCost *w, int result) {
  return loop_bytes_of(w->f->e, w->p->forward_end->operands[result]);
}

static bool is_argument(const LoopCost *w, int result) {
  return value_at(w->f->e, w->p->forward_end->operands[result])->def == NO_ID;
}

/* Bytes of the carries that are kept before a block. */
static double kept_bytes(const LoopCost *w) {
  const Op *forward = w->p->forward;
  double bytes = 0;
  for (int k = 0; k < scan_carries(forward); k++) {
    ValueId arg = forward->blocks[0]->args.at[k + 1];
    if (w->carry[k] && !is_stacked(w, arg)) bytes += loop_bytes_of(w->f->e, arg);
  }
  return bytes;
}

/* The schedule with the results computed before. Stacks that are almost free, with rows of so many
   bytes, are dropped by the loop after the blocks in turn, with blocks of the best length. */
static LoopSchedule schedule_of(const LoopCost *w, int64_t block, int64_t blocks) {
  const Op *forward = w->p->forward;
  double trips = (double)scan_trips(forward), again = (double)(block * blocks), row = 0, free = 0;
  LoopSchedule x = {.block = block, .blocks = blocks, .dropped = w->dropped, .bytes = w->longer};
  x.bytes += (double)blocks * kept_bytes(w);
  for (int k = scan_carries(forward); k < forward->nresults; k++) {
    if (!w->p->droppable[k]) continue;
    if (!w->dropped[k]) x.bytes += trips * row_bytes(w, k);
    if (w->dropped[k]) row += row_bytes(w, k);
    if (w->dropped[k] && w->free && w->free[k]) free += row_bytes(w, k);
  }
  double behind = (trips - again) * row;
  double less = (trips - again) * (row - free) + 2 * sqrt((trips - again) * w->free_carry * free);
  if (free > 0 && less < behind) behind = less;
  x.bytes += (double)block * row > behind ? (double)block * row : behind;
  x.flops = again * w->flops;
  x.cost = again * w->cost;
  return x;
}

/* A length at which the blocks show what a set is worth. */
static LoopSchedule typical_schedule(const LoopCost *w) {
  int64_t trips = scan_trips(w->p->forward), block = 1;
  while (w->by_blocks && (block + 1) * (block + 1) <= trips) block++;
  return schedule_of(w, block, w->by_blocks ? (trips - 1) / block : trips);
}

/* For every number of iterations after the blocks: the fewest recomputed iterations, in blocks of
   that length or a fraction of it. */
static void schedules_of_set(Arena *a, const LoopCost *w, LoopSchedules *out) {
  enum { SHORTER = 4 };
  int64_t trips = scan_trips(w->p->forward);
  if (!w->by_blocks) {
    vec_push(a, out, schedule_of(w, 1, trips));
    return;
  }
  for (int64_t max = 2; max < trips; max += trips / LENGTHS + 1)
    for (int64_t times = 1; times <= SHORTER; times++) {
      int64_t blocks = times * ((trips - 1) / max), again = trips - max;
      int64_t block = (again + blocks - 1) / blocks;
      if (block > 1 && block * blocks < trips) vec_push(a, out, schedule_of(w, block, blocks));
    }
}

/* Another stack may be dropped. With blocks of 1 a carry that is stacked is just what is needed. */
static bool may_drop(const LoopCost *w, int k) {
  return w->p->droppable[k] && !w->dropped[k] && (w->by_blocks || !is_argument(w, k));
}

typedef struct Gain {
  int stack;
  double ratio; /* bytes for work */
} Gain;

static int by_ratio(const void *x, const void *y) {
  const Gain *a = x, *b = y;
  if (a->ratio != b->ratio) return a->ratio < b->ratio ? 1 : -1;
  return a->stack - b->stack;
}

/* Drops the stack that frees most bytes for its work, and those computed along with it. False: none
   is left. */
static bool drop_more(Arena *a, LoopCost *w, int at_once) {
  int n = w->p->forward->nresults, ngains = 0;
  Gain *gain = ARENA_ARRAY(a, Gain, n);
  bool *dropped = ARENA_ARRAY(a, bool, n);
  memcpy(dropped, w->dropped, sizeof *dropped * (size_t)n);
  find_need(w);
  LoopSchedule before = typical_schedule(w);
  w->dropped = dropped;
  for (int k = 0; k < n; k++) {
    if (!may_drop(w, k)) continue;
    dropped[k] = true;
    find_need(w);
    LoopSchedule x = typical_schedule(w);
    gain[ngains++] = (Gain){k, (before.bytes - x.bytes) / (x.cost - before.cost + 1)};
    dropped[k] = false;
  }
  qsort(gain, (size_t)ngains, sizeof *gain, by_ratio);
  for (int k = 0; k < ngains && k < at_once; k++) dropped[gain[k].stack] = true;
  find_need(w);
  for (int k = 0; k < n; k++)
    if (may_drop(w, k) && w->seen[w->p->forward_end->operands[k]] == w->n) dropped[k] = true;
  return ngains > 0;
}

static int by_cost(const void *x, const void *y) {
  const LoopSchedule *a = x, *b = y;
  if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
  return (a->found > b->found) - (a->found < b->found);
}

/* Those that hold less than all that cost less. */
static LoopSchedules best_schedules(Arena *a, LoopSchedules all, double bytes) {
  LoopSchedules out = {0};
  double min = bytes;
  for (uint32_t i = 0; i < all.n; i++) all.at[i].found = i;
  if (all.n) qsort(all.at, all.n, sizeof *all.at, by_cost);
  for (uint32_t i = 0; i < all.n; i++) {
    if (all.at[i].bytes > min - bytes / APART) continue;
    min = all.at[i].bytes;
    vec_push(a, &out, all.at[i]);
  }
  return out;
}

LoopSchedules loop_schedules_of(const LoopFinder *f, const LoopPair *p) {
  int n = p->forward->nresults, droppable = 0;
  LoopSchedules all = {0};
  LoopCost w = {.f = f, .p = p};
  w.seen = ARENA_ARRAY(f->a, uint32_t, f->e->values.n);
  w.ran = ARENA_ARRAY(f->a, uint32_t, f->e->ops.n);
  w.carry = ARENA_ARRAY(f->a, bool, scan_carries(p->forward) + 1);
  double bytes = 0, body = (double)op_flops(f->e, p->forward) / (double)scan_trips(p->forward);
  for (int k = 0; k < n; k++) {
    droppable += p->droppable[k];
    if (p->droppable[k]) bytes += loop_bytes_of(f->e, p->forward->results[k]);
  }
  for (int by_blocks = 0; by_blocks < 2; by_blocks++) {
    w.by_blocks = by_blocks;
    w.dropped = ARENA_ARRAY(f->a, bool, n);
    const bool *free = NULL;
    while (drop_more(f->a, &w, droppable / STEPS + 1)) {
      find_need(&w);
      bool is_free = by_blocks && w.cost <= FREE * body;
      if (is_free) w.free_carry = kept_bytes(&w);
      if (is_free) free = w.dropped;
      w.free = is_free ? NULL : free;
      schedules_of_set(f->a, &w, &all);
    }
  }
  return best_schedules(f->a, all, bytes);
}
