/* A loop that is recomputed in longer blocks, whose carries are kept; see loops_build.c. */
#include "passes/remat/loops_again.h"

/* The numbers of the iterations in the blocks, block by block, or of those behind them. */
static ValueId numbers(Climb *w, const Again *g, bool behind) {
  const Op *forward = g->p->forward;
  int64_t in_blocks = g->schedule->block * g->schedule->blocks, from, n;
  n = behind ? scan_trips(forward) - in_blocks : in_blocks;
  from = behind == !forward->attr[AT_REVERSE].i ? scan_trips(forward) - n : 0;
  const Type *t = again_counts_type(w, n);
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
      again_set(w, args[j + 1], again_arg_at(loop, (uint32_t)j));
    else if (forward || again_dropped_at(g, j) < 0) /* else the caller has mapped it */
      again_set(w, args[j + 1], again_row_at(w, w->map[scan->operands[j]], number));
  }
  again_copy_body(w, g, scan, NULL);
  again_add_mapped(w, yield, end->operands, scan_carries(scan));
  for (int k = scan_carries(scan); k < scan->nresults; k++)
    if (!forward || !g->schedule->dropped[k])
      vec_push(w->a, yield,
               again_with_row(w, again_arg_at(loop, table++), w->map[end->operands[k]], number));
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

void again_forward_blocks(Climb *w, Again *g) {
  const Op *forward = g->p->forward;
  int n = scan_carries(forward);
  ValueList all = {0}, slices = {0}, kept = {0}, yield = {0};
  Types stacks = {0}, none = {0};
  again_names_of(w, forward);
  vec_push(w->a, &slices, numbers(w, g, false));
  ValueId behind = numbers(w, g, true);
  again_add_mapped(w, &all, forward->operands, n);
  add_tables(w, g, forward, &all);
  for (int k = 0; k < n; k++) vec_push(w->a, &stacks, value_type(w->old, forward->results[k]));
  const Op *outer = again_loop_begin(w, forward, g->schedule->blocks, &all, &slices, &stacks);
  for (int k = 0; k < n; k++) /* a copy, so that the carry's bytes are free to go on in */
    vec_push(w->a, &kept, build1(w->b, OP_COPY, again_arg_at(outer, (uint32_t)k)));
  uint32_t carried = all.n;
  all.n = slices.n = 0;
  again_add_args(w, &all, outer, carried);
  vec_push(w->a, &slices, again_arg_at(outer, carried));
  const Op *inner = again_loop_begin(w, forward, g->schedule->block, &all, &slices, &none);
  iterate(w, g, forward, inner, again_arg_at(inner, carried), &yield);
  again_body_end(w, inner, &yield);
  yield.n = 0;
  again_add_results(w, &yield, inner, (int)carried);
  for (int k = 0; k < n; k++) vec_push(w->a, &yield, kept.at[k]);
  again_body_end(w, outer, &yield);
  for (int k = 0; k < n; k++)
    g->carry[k] =
        again_named(w, forward->blocks[0]->args.at[k + 1], outer->results[(int)carried + k]);
  /* behind the blocks */
  all.n = slices.n = yield.n = 0;
  again_add_results(w, &all, outer, (int)carried);
  vec_push(w->a, &slices, behind);
  dropped_types(w, g, (stacks.n = 0, &stacks));
  const Op *last =
      again_loop_begin(w, forward, scan_trips(forward) - g->schedule->block * g->schedule->blocks,
                       &all, &slices, &stacks);
  iterate(w, g, forward, last, again_arg_at(last, carried), &yield);
  add_dropped(w, g, &yield);
  again_body_end(w, last, &yield);
  uint32_t table = (uint32_t)n, stack = carried;
  for (int k = 0; k < forward->nresults; k++) {
    if (k >= n && g->schedule->dropped[k])
      g->stack[k] = last->results[stack++];
    else
      again_set(w, forward->results[k], last->results[k < n ? k : (int)table++]);
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
  Op *op = again_loop_begin(w, forward, g->schedule->block, carries, &slices, &stacks);
  op->backward = true;
  ValueId here = again_arg_at(op, (uint32_t)n);
  w->map[args[0]] = here;
  for (int k = n; k < forward->nresults; k++)
    if (again_is_stacked(g, k)) from[k] = again_row_at(w, w->map[forward->results[k]], here);
  for (int j = 0; j < forward->noperands; j++) {
    int s = again_stack_of(g, args[j + 1]);
    again_set(w, args[j + 1],
              s >= 0  ? from[s]
              : j < n ? again_arg_at(op, (uint32_t)j)
                      : again_row_at(w, w->map[forward->operands[j]], here));
  }
  again_copy_body(w, g, forward, from);
  again_add_mapped(w, &yield, g->p->forward_end->operands, n);
  add_dropped(w, g, &yield);
  again_body_end(w, op, &yield);
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
    if (again_dropped_at(g, j) >= 0) vec_push(w->a, &slices, dropped[again_dropped_at(g, j)]);
  const Op *op = again_loop_begin(w, backward, trips, carries, &slices, &none);
  uint32_t at = carries->n + 1;
  for (int j = 0; j < backward->noperands; j++)
    if (again_dropped_at(g, j) >= 0)
      w->map[backward->blocks[0]->args.at[j + 1]] = again_arg_at(op, at++);
  iterate(w, g, backward, op, again_arg_at(op, carries->n), &yield);
  again_body_end(w, op, &yield);
  return op;
}

void again_backward_blocks(Climb *w, Again *g) {
  const Op *forward = g->p->forward, *backward = g->p->backward;
  int n = scan_carries(forward), m = scan_carries(backward);
  ValueId *dropped = ARENA_ARRAY(w->a, ValueId, forward->nresults + 1);
  ValueList all = {0}, slices = {0}, kept = {0}, yield = {0};
  Types none = {0};
  again_names_of(w, backward);
  again_add_mapped(w, &all, backward->operands, m);
  add_tables(w, g, backward, &all);
  vec_push(w->a, &slices, numbers(w, g, false));
  for (int k = 0; k < n; k++) vec_push(w->a, &slices, g->carry[k]);
  const Op *last =
      build_backward(w, g, scan_trips(backward) - g->schedule->block * g->schedule->blocks, &all,
                     numbers(w, g, true), g->stack);
  uint32_t carried = all.n;
  all.n = 0;
  again_add_results(w, &all, last, (int)carried);
  const Op *outer = again_loop_begin(w, backward, g->schedule->blocks, &all, &slices, &none);
  for (int k = 0; k < n; k++) vec_push(w->a, &kept, again_arg_at(outer, carried + 1 + (uint32_t)k));
  const Op *again = run_again(w, g, &kept, again_arg_at(outer, carried));
  int at = n;
  for (int k = n; k < forward->nresults; k++)
    if (g->schedule->dropped[k]) dropped[k] = again->results[at++];
  all.n = 0;
  again_add_args(w, &all, outer, carried);
  const Op *inner =
      build_backward(w, g, g->schedule->block, &all, again_arg_at(outer, carried), dropped);
  again_add_results(w, &yield, inner, (int)carried);
  again_body_end(w, outer, &yield);
  for (int k = 0; k < backward->nresults; k++)
    again_set(w, backward->results[k], outer->results[k]);
}
