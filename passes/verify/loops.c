/* Loops, for the checker of a plan.
   The proof of a loop is an invariant at the head of every iteration: each carry's bytes hold the
   carry, and bytes that no iteration writes are unchanged. It is shown to hold before the first
   iteration. Then one iteration is walked from it, for all of them, and must end with it. A stack
   is whole at the end if each iteration leaves its slice there, and the loop writes to the stack
   only within the slice of its own iteration. */
#include "passes/verify/verify_impl.h"

static const char *name_of(const Check *c, ValueId v) { return value_str(c->e, v); }

/* The iteration's slice of a place of the scan's own block. */
static Place slice_place(const Check *c, const Op *scan, const Place *whole) {
  int64_t *stride = ARENA_ARRAY(c->a, int64_t, c->p->depth);
  Place x = *whole;
  x.bytes = whole->bytes / (uint64_t)scan_trips(scan);
  for (int d = 0; d < c->p->depth; d++) stride[d] = verify_stride(whole, d);
  stride[verify_level(scan->blocks[0]) - 1] += (int64_t)x.bytes;
  x.stride = stride;
  return x;
}

/* Where the yield brings a value. */
static Place target_place(const Check *c, const Op *scan, int i) {
  const Place *y = &c->p->place[scan->results[i]];
  return i < scan_carries(scan) ? *y : slice_place(c, scan, y);
}

static void check_arguments(Check *c, const Op *scan) {
  const Block *b = scan->blocks[0];
  Place count = {.region = PLAN_COUNTS, .bytes = sizeof(int32_t) * (uint64_t)scan_trips(scan)};
  for (uint32_t i = 0; i < b->args.n; i++) {
    ValueId v = b->args.at[i];
    int k = (int)i - 1;
    bool carry = k >= 0 && k < scan_carries(scan);
    Place want = carry   ? c->p->place[scan->results[k]]
                 : k < 0 ? slice_place(c, scan, &count)
                         : slice_place(c, scan, &c->p->place[scan->operands[k]]);
    uint64_t bytes;
    if (!verify_bytes(c, v, &bytes) || bytes != want.bytes ||
        !verify_same_place(c, &want, &c->p->place[v]))
      verify_fail(c, scan, "%s is not where the loop finds it", name_of(c, v));
    if (k < 0 && c->p->place[v].last > c->step && count.bytes > c->size[PLAN_COUNTS])
      verify_fail(c, scan, "counts further than the counts");
    c->defined[v] = true;
    c->content[v] = k < 0 || carry ? v : c->content[scan->operands[k]];
    c->from[v] = k < 0 || carry ? 0 : c->from[scan->operands[k]];
  }
}

/* A value is brought to a place, or is there already. */
static void check_move(Check *c, const Op *op, ValueId v, const Place *to, const Block *b) {
  verify_read(c, op, v, c->step);
  if (verify_same_place(c, &c->p->place[v], to)) return;
  Range r = verify_range_in(to, b);
  if (verify_overlap(verify_range(c, v), r))
    verify_fail(c, op, "%s overlaps the place to which it is copied", name_of(c, v));
  verify_touch(c, op, verify_range(c, v), false);
  verify_touch(c, op, r, true);
  verify_write(c, r, CONTENT, v);
}

/* Writes of a loop's body: what an op makes, its scratch, and what loops bring about. */
typedef struct Writes {
  VEC(Place) at;
  VEC(const Block *) in;
} Writes;

static void add_write(Check *c, Writes *w, Place x, const Block *b) {
  if (!x.bytes) return;
  vec_push(c->a, &w->at, x);
  vec_push(c->a, &w->in, b);
}

static void find_writes(Check *c, const Block *b, Writes *w) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    add_write(c, w, c->p->scratch[op->id], c->e->body);
    if (op->kind == OP_YIELD)
      for (int k = 0; k < op->noperands; k++) add_write(c, w, target_place(c, b->op, k), b);
    if (verify_moves_nothing(c, op)) continue;
    for (int k = 0; k < op->nresults && op->kind != OP_SCAN; k++)
      add_write(c, w, c->p->place[op->results[k]], b);
    if (op->kind != OP_SCAN) continue;
    for (int k = 0; k < scan_carries(op); k++) add_write(c, w, c->p->place[op->results[k]], b);
    find_writes(c, op->blocks[0], w);
  }
}

/* The write stays, in every iteration of the loop, within the iteration's slice. */
static bool stays_within(const Place *slice, const Place *x, const Block *in, int level) {
  if (x->region != slice->region || x->offset < slice->offset) return false;
  uint64_t end = x->offset + x->bytes;
  for (const Block *b = in; b->op; b = b->op->parent) {
    int d = verify_level(b) - 1;
    if (d >= level)
      end += (uint64_t)(scan_trips(b->op) - 1) * (uint64_t)verify_stride(x, d);
    else if (verify_stride(x, d) != verify_stride(slice, d))
      return false;
  }
  return end <= slice->offset + slice->bytes;
}

/* Everything that an iteration may write is unknown at the head of one, but for the carries. */
static void forget_writes(Check *c, const Op *scan) {
  Writes w = {0};
  int level = verify_level(scan->blocks[0]);
  find_writes(c, scan->blocks[0], &w);
  for (uint32_t i = 0; i < w.at.n; i++)
    verify_write(c, verify_range_in(&w.at.at[i], w.in.at[i]), NOTHING, NO_ID);
  for (int k = 0; k < scan->nresults; k++) {
    Range r = verify_range(c, scan->results[k]);
    if (k < scan_carries(scan)) {
      verify_write(c, r, CONTENT, scan->blocks[0]->args.at[k + 1]);
      continue;
    }
    Place slice = target_place(c, scan, k);
    for (uint32_t i = 0; i < w.at.n; i++)
      if (verify_overlap(verify_range_in(&w.at.at[i], w.in.at[i]), r) &&
          !stays_within(&slice, &w.at.at[i], w.in.at[i], level))
        verify_fail(c, scan, "its stack %s is written to in the loop beside the iteration's slice",
                    name_of(c, scan->results[k]));
  }
}

void verify_loop_begin(Check *c, const Op *scan) {
  int carries = scan_carries(scan);
  for (int i = carries; i < scan->noperands; i++) verify_read(c, scan, scan->operands[i], c->step);
  if (!verify_results(c, scan, c->step)) return;
  check_arguments(c, scan);
  for (int i = 0; i < carries && !c->failed; i++)
    check_move(c, scan, scan->operands[i], &c->p->place[scan->results[i]], scan->parent);
  for (int i = 0; i < carries && !c->failed; i++) {
    Range r = verify_range(c, scan->results[i]);
    if (!verify_holds(c, r, c->content[scan->operands[i]]) &&
        !verify_holds(c, r, scan->operands[i]))
      verify_fail(c, scan, "the carry %s is overwritten", name_of(c, scan->results[i]));
    verify_write(c, r, CONTENT, scan->blocks[0]->args.at[i + 1]);
  }
  if (!c->failed) forget_writes(c, scan);
}

void verify_loop_round(Check *c, const Op *yield) {
  const Op *scan = yield->parent->op;
  int carries = scan_carries(scan);
  for (int pass = 0; pass < 2; pass++) /* what is stacked first: it may be a carry */
    for (int i = pass ? 0 : carries; i < (pass ? carries : yield->noperands) && !c->failed; i++) {
      Place to = target_place(c, scan, i);
      check_move(c, yield, yield->operands[i], &to, yield->parent);
    }
  for (int i = 0; i < yield->noperands && !c->failed; i++) {
    ValueId v = yield->operands[i];
    Range r = verify_range(c, scan->results[i]);
    if (!verify_holds(c, r, v) && !verify_holds(c, r, c->content[v]))
      verify_fail(c, yield, "%s does not reach the next iteration in its place", name_of(c, v));
  }
}

void verify_loop_end(Check *c, const Op *scan) {
  for (int i = 0; i < scan->nresults; i++) {
    verify_write(c, verify_range(c, scan->results[i]), CONTENT, scan->results[i]);
    c->defined[scan->results[i]] = true;
  }
}
