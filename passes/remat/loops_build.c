/* Recomputes loops for their backward passes, as a point of the frontier says.
   Contract: the entry is in order and stays so. Iterations compute the same numbers from the same
   numbers, and sums are added up in the same order, so results are the same bits. Ops left
   without readers go as dead code.
   With a block of 1 the loop stacks the carries before each iteration, and the body of the backward
   pass begins with the iteration again. Longer blocks make a loop over blocks of a loop over the
   block's iterations, twice. The forward one keeps the carries at the beginning of each block. The
   backward one recomputes the block, stacking, and then runs its backward pass. The iterations
   behind the last block are loops of their own, which stack as before. These loops read rows of
   sliced tensors, and write rows in place into stacked ones. The number of the iteration in the
   whole loop selects the row; a slice of a table brings it. */
#include "passes/manager/pass_list.h"
#include "passes/remat/remat_impl.h"

typedef VEC(const Type *) Types;

typedef struct Again { /* of a pair, from its forward pass to its backward pass; values of the new
                          entry */
  const LoopPair *p;
  const LoopSchedule *schedule;
  ValueId *carry; /* by carry: its stack, before each block or iteration */
  ValueId *stack; /* by result of `forward`: what the iterations behind the blocks dropped */
  bool done;      /* the backward pass has been built */
} Again;

typedef struct Climb {
  Arena *a;
  Again *again;
  int n;
  Builder *b;
  const Entry *old;
  ValueId *map;
} Climb;

static bool is_stacked(const Again *g, int result) {
  return result >= scan_carries(g->p->forward) && !g->schedule->dropped[result] &&
         (g->p->droppable[result] || g->p->alive[result]);
}

/* The result of `forward` that the backward pass can read the value from; -1: none. */
static int stack_of(const Again *g, ValueId v) {
  for (int k = scan_carries(g->p->forward); k < g->p->forward->nresults; k++)
    if (g->p->forward_end->operands[k] == v && is_stacked(g, k)) return k;
  return -1;
}

/* The dropped result that operand j of the backward pass slices; -1: none. */
static int dropped_at(const Again *g, int j) {
  const Op *forward = g->p->forward;
  for (int k = scan_carries(forward); j >= scan_carries(g->p->backward) && k < forward->nresults;
       k++)
    if (g->schedule->dropped[k] && forward->results[k] == g->p->backward->operands[j]) return k;
  return -1;
}

/* ---- building ---- */

static const Type *row_type(Climb *w, const Type *t) {
  int64_t *axis = ARENA_ARRAY(w->a, int64_t, t->rank);
  return type_get(w->b->m->ctx, t->dtype, t->rank - 1, type_axes(t, axis) + 1);
}

static const Type *counts_type(Climb *w, int64_t n) {
  return type_get(w->b->m->ctx, DT_I32, 1, &n);
}

static ValueId row_at(Climb *w, ValueId table, ValueId number) {
  return build(w->b, OP_GATHER, (ValueId[]){table, number}, 2, NULL, NULL);
}

static ValueId with_row(Climb *w, ValueId table, ValueId row, ValueId number) {
  const Type *t = value_type(w->b->e, row);
  ValueId in[] = {table, build_reshape(w->b, row, type_stacked(w->b->m->ctx, t, 1)), number};
  return build(w->b, OP_DYNAMIC_UPDATE, in, 3, NULL, NULL);
}

static void names_of(Climb *w, const Op *op) {
  builder_like(w->b, op);
  w->b->name = NULL;
}

static ValueId named(Climb *w, ValueId old, ValueId now) {
  Value *v = value_at(w->b->e, now);
  if (!v->name) v->name = value_at(w->old, old)->name;
  return now;
}

/* From here on `now` stands for the old value, and has its name. */
static void set(Climb *w, ValueId old, ValueId now) { w->map[old] = named(w, old, now); }

/* A loop with its arguments, in which building goes on. Operand and argument of a carry are alike.
 */
static Op *loop_begin(Climb *w, const Op *like, int64_t trips, const ValueList *carries,
                      const ValueList *slices, const Types *stacks) {
  ValueList operands = {0};
  Types types = {0};
  Builder *b = w->b;
  for (uint32_t i = 0; i < carries->n; i++) {
    vec_push(w->a, &operands, carries->at[i]);
    vec_push(w->a, &types, value_type(b->e, carries->at[i]));
  }
  for (uint32_t i = 0; i < slices->n; i++) vec_push(w->a, &operands, slices->at[i]);
  for (uint32_t i = 0; i < stacks->n; i++)
    vec_push(w->a, &types, type_stacked(b->m->ctx, stacks->at[i], trips));
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = trips},
                          [AT_CARRIES] = {.i = carries->n},
                          [AT_REVERSE] = like->attr[AT_REVERSE]};
  names_of(w, like);
  Op *op = build_op(b, OP_SCAN, operands.at, (int)operands.n, attr, types.at, (int)types.n);
  Block *body = op->blocks[0];
  const Value *counter = value_at(w->old, like->blocks[0]->args.at[0]);
  block_add_arg(b->e, body, (Value){.type = counter->type, .name = counter->name});
  for (uint32_t i = 0; i < operands.n; i++) {
    Value x = *value_at(b->e, operands.at[i]);
    if (i < carries->n) value_at(b->e, op->results[i])->layout = x.layout;
    if (i >= carries->n) x.type = row_type(w, x.type);
    block_add_arg(b->e, body, x);
  }
  builder_at(b, body);
  return op;
}

static void body_end(Climb *w, const Op *op, const ValueList *yield) {
  names_of(w, op);
  build_op(w->b, OP_YIELD, yield->at, (int)yield->n, NULL, NULL, 0);
  builder_at(w->b, op->parent);
}

static ValueId arg_at(const Op *loop, uint32_t k) { return loop->blocks[0]->args.at[k + 1]; }

static void add_results(Climb *w, ValueList *out, const Op *op, int n) {
  for (int k = 0; k < n; k++) vec_push(w->a, out, op->results[k]);
}

static void add_args(Climb *w, ValueList *out, const Op *loop, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) vec_push(w->a, out, arg_at(loop, k));
}

/* The carries of an old loop: their first values, or what its body gives. */
static void add_mapped(Climb *w, ValueList *out, const ValueId *old, int n) {
  for (int k = 0; k < n; k++) vec_push(w->a, out, w->map[old[k]]);
}

/* A kernel that is recomputed, with what it gave out and is stacked as operands: what it makes of
   that needs the rest no more. */
static void copy_kernel(Climb *w, const Again *g, const Op *op, const ValueId *from) {
  const Block *body = op->blocks[0];
  const Op *yield = op_at(w->old, body->ops.at[body->ops.n - 1]);
  ValueList operands = {0}, out = {0};
  Types types = {0};
  ValueId *arg = ARENA_ARRAY(w->a, ValueId, op->nresults + 1);
  add_mapped(w, &operands, op->operands, op->noperands);
  for (int r = 0; r < op->nresults; r++) {
    int k = stack_of(g, op->results[r]);
    vec_push(w->a, &types, value_type(w->old, op->results[r]));
    if (k >= 0) vec_push(w->a, &operands, from[k]);
  }
  names_of(w, op);
  Op *copy =
      build_op(w->b, OP_KERNEL, operands.at, (int)operands.n, op->attr, types.at, (int)types.n);
  Block *into = copy->blocks[0];
  builder_at(w->b, into);
  for (uint32_t i = 0; i < body->args.n; i++)
    w->map[body->args.at[i]] = block_add_arg(w->b->e, into, *value_at(w->old, body->args.at[i]));
  for (int r = 0; r < op->nresults; r++) {
    Value like = *value_at(w->old, op->results[r]);
    arg[r] = stack_of(g, op->results[r]) >= 0 ? block_add_arg(w->b->e, into, like) : NO_ID;
  }
  for (uint32_t i = 0; i + 1 < body->ops.n; i++) {
    const Op *inner = op_at(w->old, body->ops.at[i]);
    build_copy(w->b, w->old, inner, w->map);
    for (int r = 0; r < op->nresults; r++)
      if (arg[r] != NO_ID && inner->nresults && yield->operands[r] == inner->results[0])
        w->map[inner->results[0]] = arg[r];
  }
  add_mapped(w, &out, yield->operands, op->nresults);
  body_end(w, copy, &out);
  for (int r = 0; r < op->nresults; r++) {
    value_at(w->b->e, copy->results[r])->layout = value_at(w->old, op->results[r])->layout;
    set(w, op->results[r], copy->results[r]);
  }
}

/* The ops of an old body, its arguments mapped. Of values with a stack, `from` has what stands for
   them. */
static void copy_body(Climb *w, const Again *g, const Op *scan, const ValueId *from) {
  const Block *body = scan->blocks[0];
  uint32_t first = w->b->e->ops.n;
  for (uint32_t i = 0; i + 1 < body->ops.n; i++) {
    const Op *op = op_at(w->old, body->ops.at[i]);
    if (from && op->kind == OP_KERNEL)
      copy_kernel(w, g, op, from);
    else
      build_copy(w->b, w->old, op, w->map);
    for (int r = 0; from && r < op->nresults; r++) {
      int k = stack_of(g, op->results[r]);
      if (k >= 0) w->map[op->results[r]] = from[k];
    }
  }
  for (uint32_t i = first; from && i < w->b->e->ops.n; i++) w->b->e->ops.at[i]->backward = true;
}

/* ---- each iteration in front of its own backward pass ---- */

static void forward_each(Climb *w, Again *g) {
  const Op *forward = g->p->forward;
  int n = scan_carries(forward);
  ValueList carries = {0}, slices = {0}, yield = {0};
  Types stacks = {0};
  add_mapped(w, &carries, forward->operands, n);
  add_mapped(w, &slices, forward->operands + n, forward->noperands - n);
  for (int k = n; k < forward->nresults; k++)
    if (!g->schedule->dropped[k])
      vec_push(w->a, &stacks, value_type(w->old, g->p->forward_end->operands[k]));
  for (int k = 0; k < n; k++)
    if (stack_of(g, forward->blocks[0]->args.at[k + 1]) < 0)
      vec_push(w->a, &stacks, value_type(w->old, forward->results[k]));
  const Op *op = loop_begin(w, forward, scan_trips(forward), &carries, &slices, &stacks);
  for (uint32_t i = 0; i < op->blocks[0]->args.n; i++)
    set(w, forward->blocks[0]->args.at[i], op->blocks[0]->args.at[i]);
  copy_body(w, g, forward, NULL);
  for (int k = 0; k < forward->nresults; k++)
    if (k < n || !g->schedule->dropped[k])
      vec_push(w->a, &yield, w->map[g->p->forward_end->operands[k]]);
  int at = n;
  for (int k = 0; k < forward->nresults; k++)
    if (k < n || !g->schedule->dropped[k])
      set(w, forward->results[k], op->results[k < n ? k : at++]);
  for (int k = 0; k < n; k++) {
    ValueId arg = forward->blocks[0]->args.at[k + 1];
    if (stack_of(g, arg) >= 0) continue;
    vec_push(w->a, &yield, w->map[arg]);
    g->carry[k] = named(w, arg, op->results[at++]);
  }
  body_end(w, op, &yield);
}

/* Its index; each tensor is sliced once. */
static uint32_t add_slice(Climb *w, ValueList *slices, ValueId v) {
  for (uint32_t i = 0; i < slices->n; i++)
    if (slices->at[i] == v) return i;
  vec_push(w->a, slices, v);
  return slices->n - 1;
}

static void backward_each(Climb *w, Again *g) {
  const Op *forward = g->p->forward, *backward = g->p->backward;
  int n = scan_carries(forward), m = scan_carries(backward);
  uint32_t *stack = ARENA_ARRAY(w->a, uint32_t, forward->nresults + 1); /* among the slices */
  uint32_t *carry = ARENA_ARRAY(w->a, uint32_t, n + 1);
  uint32_t *slice = ARENA_ARRAY(w->a, uint32_t, forward->noperands + backward->noperands + 1);
  ValueId *from = ARENA_ARRAY(w->a, ValueId, forward->nresults + 1);
  ValueList carries = {0}, slices = {0}, yield = {0};
  Types stacks = {0};
  add_mapped(w, &carries, backward->operands, m);
  for (int j = m; j < backward->noperands; j++)
    if (dropped_at(g, j) < 0) slice[j] = add_slice(w, &slices, w->map[backward->operands[j]]);
  uint32_t *other = slice + backward->noperands;
  for (int j = n; j < forward->noperands; j++)
    other[j] = add_slice(w, &slices, w->map[forward->operands[j]]);
  for (int k = n; k < forward->nresults; k++)
    if (is_stacked(g, k)) stack[k] = add_slice(w, &slices, w->map[forward->results[k]]);
  for (int k = 0; k < n; k++)
    if (stack_of(g, forward->blocks[0]->args.at[k + 1]) < 0)
      carry[k] = add_slice(w, &slices, g->carry[k]);
  for (int k = m; k < backward->nresults; k++)
    vec_push(w->a, &stacks, value_type(w->old, g->p->backward_end->operands[k]));
  const Op *op = loop_begin(w, backward, scan_trips(backward), &carries, &slices, &stacks);
  for (int k = n; k < forward->nresults; k++)
    if (is_stacked(g, k)) from[k] = arg_at(op, (uint32_t)m + stack[k]);
  const ValueId *args = forward->blocks[0]->args.at;
  w->map[args[0]] = op->blocks[0]->args.at[0];
  for (int j = n; j < forward->noperands; j++)
    w->map[args[j + 1]] = arg_at(op, (uint32_t)m + other[j]);
  for (int k = 0; k < n; k++) {
    int s = stack_of(g, args[k + 1]);
    w->map[args[k + 1]] = s >= 0 ? from[s] : arg_at(op, (uint32_t)m + carry[k]);
  }
  copy_body(w, g, forward, from);
  args = backward->blocks[0]->args.at;
  w->map[args[0]] = op->blocks[0]->args.at[0];
  for (int j = 0; j < backward->noperands; j++) {
    int k = dropped_at(g, j);
    w->map[args[j + 1]] = j < m   ? arg_at(op, (uint32_t)j)
                          : k < 0 ? arg_at(op, (uint32_t)m + slice[j])
                                  : w->map[g->p->forward_end->operands[k]];
  }
  copy_body(w, g, backward, NULL);
  add_mapped(w, &yield, g->p->backward_end->operands, backward->nresults);
  for (int k = 0; k < backward->nresults; k++) set(w, backward->results[k], op->results[k]);
  body_end(w, op, &yield);
}

/* ---- blocks ---- */

/* The numbers of the iterations in the blocks, block by block, or of those behind them. */
static ValueId numbers(Climb *w, const Again *g, bool behind) {
  const Op *forward = g->p->forward;
  int64_t in_blocks = g->schedule->block * g->schedule->blocks, from, n;
  n = behind ? scan_trips(forward) - in_blocks : in_blocks;
  from = behind == !forward->attr[AT_REVERSE].i ? scan_trips(forward) - n : 0;
  const Type *t = counts_type(w, n);
  ValueId v = build(w->b, OP_IOTA, NULL, 0, NULL, t);
  if (from) v = build2(w->b, OP_ADD, v, build_const_int(w->b, t, from));
  int64_t dim[] = {g->schedule->blocks, g->schedule->block};
  return behind ? v : build_reshape(w->b, v, type_get(w->b->m->ctx, DT_I32, 2, dim));
}

/* Zeros in which the loop's rows are put: one for each stack that is whole. */
static void add_tables(Climb *w, const Again *g, const Op *scan, ValueList *out) {
  for (int k = scan_carries(scan); k < scan->nresults; k++)
    if (scan == g->p->backward || !g->schedule->dropped[k])
      vec_push(w->a, out, build_const(w->b, value_type(w->old, scan->results[k]), 0));
}

/* In a loop over iterations: the body of the old loop, from its arguments to what it yields. The
   carries come first among the arguments, tables behind them; `number` is that in the whole loop.
 */
static void iterate(Climb *w, const Again *g, const Op *scan, const Op *loop, ValueId number,
                    ValueList *yield) {
  const Op *end = plan_yield(w->old, scan);
  const ValueId *args = scan->blocks[0]->args.at;
  uint32_t table = (uint32_t)scan_carries(scan);
  bool forward = scan == g->p->forward;
  w->map[args[0]] = number;
  for (int j = 0; j < scan->noperands; j++) {
    if (j < scan_carries(scan))
      set(w, args[j + 1], arg_at(loop, (uint32_t)j));
    else if (forward || dropped_at(g, j) < 0) /* else the caller has mapped it */
      set(w, args[j + 1], row_at(w, w->map[scan->operands[j]], number));
  }
  copy_body(w, g, scan, NULL);
  add_mapped(w, yield, end->operands, scan_carries(scan));
  for (int k = scan_carries(scan); k < scan->nresults; k++)
    if (!forward || !g->schedule->dropped[k])
      vec_push(w->a, yield, with_row(w, arg_at(loop, table++), w->map[end->operands[k]], number));
}

static void dropped_types(Climb *w, const Again *g, Types *out) {
  for (int k = scan_carries(g->p->forward); k < g->p->forward->nresults; k++)
    if (g->schedule->dropped[k])
      vec_push(w->a, out, value_type(w->old, g->p->forward_end->operands[k]));
}

static void add_dropped(Climb *w, const Again *g, ValueList *out) {
  for (int k = scan_carries(g->p->forward); k < g->p->forward->nresults; k++)
    if (g->schedule->dropped[k]) vec_push(w->a, out, w->map[g->p->forward_end->operands[k]]);
}

static void forward_blocks(Climb *w, Again *g) {
  const Op *forward = g->p->forward;
  int n = scan_carries(forward);
  ValueList all = {0}, slices = {0}, kept = {0}, yield = {0};
  Types stacks = {0}, none = {0};
  names_of(w, forward);
  vec_push(w->a, &slices, numbers(w, g, false));
  ValueId behind = numbers(w, g, true);
  add_mapped(w, &all, forward->operands, n);
  add_tables(w, g, forward, &all);
  for (int k = 0; k < n; k++) vec_push(w->a, &stacks, value_type(w->old, forward->results[k]));
  const Op *outer = loop_begin(w, forward, g->schedule->blocks, &all, &slices, &stacks);
  for (int k = 0; k < n; k++) /* a copy, so that the carry's bytes are free to go on in */
    vec_push(w->a, &kept, build1(w->b, OP_COPY, arg_at(outer, (uint32_t)k)));
  uint32_t carried = all.n;
  all.n = slices.n = 0;
  add_args(w, &all, outer, carried);
  vec_push(w->a, &slices, arg_at(outer, carried));
  const Op *inner = loop_begin(w, forward, g->schedule->block, &all, &slices, &none);
  iterate(w, g, forward, inner, arg_at(inner, carried), &yield);
  body_end(w, inner, &yield);
  yield.n = 0;
  add_results(w, &yield, inner, (int)carried);
  for (int k = 0; k < n; k++) vec_push(w->a, &yield, kept.at[k]);
  body_end(w, outer, &yield);
  for (int k = 0; k < n; k++)
    g->carry[k] = named(w, forward->blocks[0]->args.at[k + 1], outer->results[(int)carried + k]);
  /* behind the blocks */
  all.n = slices.n = yield.n = 0;
  add_results(w, &all, outer, (int)carried);
  vec_push(w->a, &slices, behind);
  dropped_types(w, g, (stacks.n = 0, &stacks));
  const Op *last =
      loop_begin(w, forward, scan_trips(forward) - g->schedule->block * g->schedule->blocks, &all,
                 &slices, &stacks);
  iterate(w, g, forward, last, arg_at(last, carried), &yield);
  add_dropped(w, g, &yield);
  body_end(w, last, &yield);
  uint32_t table = (uint32_t)n, stack = carried;
  for (int k = 0; k < forward->nresults; k++) {
    if (k >= n && g->schedule->dropped[k])
      g->stack[k] = last->results[stack++];
    else
      set(w, forward->results[k], last->results[k < n ? k : (int)table++]);
  }
}

/* The block's iterations again, from the carries that were kept, stacking what was dropped. */
static const Op *run_again(Climb *w, const Again *g, const ValueList *carries, ValueId number) {
  const Op *forward = g->p->forward;
  const ValueId *args = forward->blocks[0]->args.at;
  int n = scan_carries(forward);
  ValueId *from = ARENA_ARRAY(w->a, ValueId, forward->nresults + 1);
  ValueList slices = {0}, yield = {0};
  Types stacks = {0};
  vec_push(w->a, &slices, number);
  dropped_types(w, g, &stacks);
  Op *op = loop_begin(w, forward, g->schedule->block, carries, &slices, &stacks);
  op->backward = true;
  ValueId here = arg_at(op, (uint32_t)n);
  w->map[args[0]] = here;
  for (int k = n; k < forward->nresults; k++)
    if (is_stacked(g, k)) from[k] = row_at(w, w->map[forward->results[k]], here);
  for (int j = 0; j < forward->noperands; j++) {
    int s = stack_of(g, args[j + 1]);
    set(w, args[j + 1],
        s >= 0  ? from[s]
        : j < n ? arg_at(op, (uint32_t)j)
                : row_at(w, w->map[forward->operands[j]], here));
  }
  copy_body(w, g, forward, from);
  add_mapped(w, &yield, g->p->forward_end->operands, n);
  add_dropped(w, g, &yield);
  body_end(w, op, &yield);
  return op;
}

/* The backward pass of iterations whose dropped stacks are there. */
static const Op *build_backward(Climb *w, const Again *g, int64_t trips, const ValueList *carries,
                                ValueId number, const ValueId *dropped) {
  const Op *backward = g->p->backward;
  ValueList slices = {0}, yield = {0};
  Types none = {0};
  vec_push(w->a, &slices, number);
  for (int j = 0; j < backward->noperands; j++)
    if (dropped_at(g, j) >= 0) vec_push(w->a, &slices, dropped[dropped_at(g, j)]);
  const Op *op = loop_begin(w, backward, trips, carries, &slices, &none);
  uint32_t at = carries->n + 1;
  for (int j = 0; j < backward->noperands; j++)
    if (dropped_at(g, j) >= 0) w->map[backward->blocks[0]->args.at[j + 1]] = arg_at(op, at++);
  iterate(w, g, backward, op, arg_at(op, carries->n), &yield);
  body_end(w, op, &yield);
  return op;
}

static void backward_blocks(Climb *w, Again *g) {
  const Op *forward = g->p->forward, *backward = g->p->backward;
  int n = scan_carries(forward), m = scan_carries(backward);
  ValueId *dropped = ARENA_ARRAY(w->a, ValueId, forward->nresults + 1);
  ValueList all = {0}, slices = {0}, kept = {0}, yield = {0};
  Types none = {0};
  names_of(w, backward);
  add_mapped(w, &all, backward->operands, m);
  add_tables(w, g, backward, &all);
  vec_push(w->a, &slices, numbers(w, g, false));
  for (int k = 0; k < n; k++) vec_push(w->a, &slices, g->carry[k]);
  const Op *last =
      build_backward(w, g, scan_trips(backward) - g->schedule->block * g->schedule->blocks, &all,
                     numbers(w, g, true), g->stack);
  uint32_t carried = all.n;
  all.n = 0;
  add_results(w, &all, last, (int)carried);
  const Op *outer = loop_begin(w, backward, g->schedule->blocks, &all, &slices, &none);
  for (int k = 0; k < n; k++) vec_push(w->a, &kept, arg_at(outer, carried + 1 + (uint32_t)k));
  const Op *again = run_again(w, g, &kept, arg_at(outer, carried));
  int at = n;
  for (int k = n; k < forward->nresults; k++)
    if (g->schedule->dropped[k]) dropped[k] = again->results[at++];
  all.n = 0;
  add_args(w, &all, outer, carried);
  const Op *inner = build_backward(w, g, g->schedule->block, &all, arg_at(outer, carried), dropped);
  add_results(w, &yield, inner, (int)carried);
  body_end(w, outer, &yield);
  for (int k = 0; k < backward->nresults; k++) set(w, backward->results[k], outer->results[k]);
}

/* ---- the entry ---- */

/* The store waits for a loop that is recomputed from what it overwrites. */
static bool waits(const Climb *w, const Op *store) {
  for (int i = 0; i < w->n; i++)
    for (int k = 0; k < w->again[i].p->nlate && !w->again[i].done; k++)
      if (w->again[i].p->late[k] == store) return true;
  return false;
}

/* The backward pass is there, and what waited for nothing else is stored. */
static void store_late(Climb *w, Again *g) {
  g->done = true;
  for (int k = 0; k < g->p->nlate; k++)
    if (!waits(w, g->p->late[k])) build_copy(w->b, w->old, g->p->late[k], w->map);
}

static void apply_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Climb *w = data;
  w->b = b;
  w->old = old;
  w->map = map;
  for (int i = 0; i < w->n; i++) {
    Again *g = &w->again[i];
    bool each = g->schedule->block == 1;
    if (op == g->p->forward) {
      each ? forward_each(w, g) : forward_blocks(w, g);
      return;
    }
    if (op == g->p->backward) {
      each ? backward_each(w, g) : backward_blocks(w, g);
      store_late(w, g);
      return;
    }
  }
  if (op->kind != OP_STORE || !waits(w, op)) build_copy(b, old, op, map);
}

static uint64_t flops_of(const Entry *e) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < e->body->ops.n; i++) sum += op_flops(e, op_at(e, e->body->ops.at[i]));
  return sum;
}

void remat_apply_loops(Arena *a, Entry *e, const LoopFrontier *l, const LoopPoint *r) {
  Climb w = {.a = a, .again = ARENA_ARRAY(a, Again, l->npairs + 1)};
  uint64_t before = flops_of(e);
  for (int i = 0; i < l->npairs; i++) {
    if (!r->schedule[i]) continue;
    Again *g = &w.again[w.n++];
    *g = (Again){.p = &l->pair[i], .schedule = r->schedule[i]};
    g->carry = ARENA_ARRAY(a, ValueId, scan_carries(g->p->forward) + 1);
    g->stack = ARENA_ARRAY(a, ValueId, g->p->forward->nresults + 1);
  }
  entry_rebuild(e, apply_each, &w, false, false);
  (void)dce_entry(a, e);
  notes_change(e)->rerun_flops += flops_of(e) - before;
}
