/* A loop that is recomputed with a block of 1: each iteration in front of its own backward pass;
   see loops_build.c. */
#include "passes/remat/loops_again.h"

void again_forward_each(Climb *w, Again *g) {
  const Op *forward = g->p->forward;
  int n = scan_carries(forward);
  ValueList carries = {0}, slices = {0}, yield = {0};
  Types stacks = {0};
  again_add_mapped(w, &carries, forward->operands, n);
  again_add_mapped(w, &slices, forward->operands + n, forward->noperands - n);
  for (int k = n; k < forward->nresults; k++)
    if (!g->schedule->dropped[k])
      vec_push(w->a, &stacks, value_type(w->old, g->p->forward_end->operands[k]));
  for (int k = 0; k < n; k++)
    if (again_stack_of(g, forward->blocks[0]->args.at[k + 1]) < 0)
      vec_push(w->a, &stacks, value_type(w->old, forward->results[k]));
  const Op *op = again_loop_begin(w, forward, scan_trips(forward), &carries, &slices, &stacks);
  for (uint32_t i = 0; i < op->blocks[0]->args.n; i++)
    again_set(w, forward->blocks[0]->args.at[i], op->blocks[0]->args.at[i]);
  again_copy_body(w, g, forward, NULL);
  for (int k = 0; k < forward->nresults; k++)
    if (k < n || !g->schedule->dropped[k])
      vec_push(w->a, &yield, w->map[g->p->forward_end->operands[k]]);
  int at = n;
  for (int k = 0; k < forward->nresults; k++)
    if (k < n || !g->schedule->dropped[k])
      again_set(w, forward->results[k], op->results[k < n ? k : at++]);
  for (int k = 0; k < n; k++) {
    ValueId arg = forward->blocks[0]->args.at[k + 1];
    if (again_stack_of(g, arg) >= 0) continue;
    vec_push(w->a, &yield, w->map[arg]);
    g->carry[k] = again_named(w, arg, op->results[at++]);
  }
  again_body_end(w, op, &yield);
}

/* Its index; each tensor is sliced once. */
static uint32_t add_slice(Climb *w, ValueList *slices, ValueId v) {
  for (uint32_t i = 0; i < slices->n; i++)
    if (slices->at[i] == v) return i;
  vec_push(w->a, slices, v);
  return slices->n - 1;
}

void again_backward_each(Climb *w, Again *g) {
  const Op *forward = g->p->forward, *backward = g->p->backward;
  int n = scan_carries(forward), m = scan_carries(backward);
  uint32_t *stack = ARENA_ARRAY(w->a, uint32_t, forward->nresults + 1); /* among the slices */
  uint32_t *carry = ARENA_ARRAY(w->a, uint32_t, n + 1);
  uint32_t *slice = ARENA_ARRAY(w->a, uint32_t, forward->noperands + backward->noperands + 1);
  ValueId *from = ARENA_ARRAY(w->a, ValueId, forward->nresults + 1);
  ValueList carries = {0}, slices = {0}, yield = {0};
  Types stacks = {0};
  again_add_mapped(w, &carries, backward->operands, m);
  for (int j = m; j < backward->noperands; j++)
    if (again_dropped_at(g, j) < 0) slice[j] = add_slice(w, &slices, w->map[backward->operands[j]]);
  uint32_t *other = slice + backward->noperands;
  for (int j = n; j < forward->noperands; j++)
    other[j] = add_slice(w, &slices, w->map[forward->operands[j]]);
  for (int k = n; k < forward->nresults; k++)
    if (again_is_stacked(g, k)) stack[k] = add_slice(w, &slices, w->map[forward->results[k]]);
  for (int k = 0; k < n; k++)
    if (again_stack_of(g, forward->blocks[0]->args.at[k + 1]) < 0)
      carry[k] = add_slice(w, &slices, g->carry[k]);
  for (int k = m; k < backward->nresults; k++)
    vec_push(w->a, &stacks, value_type(w->old, g->p->backward_end->operands[k]));
  const Op *op = again_loop_begin(w, backward, scan_trips(backward), &carries, &slices, &stacks);
  for (int k = n; k < forward->nresults; k++)
    if (again_is_stacked(g, k)) from[k] = again_arg_at(op, (uint32_t)m + stack[k]);
  const ValueId *args = forward->blocks[0]->args.at;
  w->map[args[0]] = op->blocks[0]->args.at[0];
  for (int j = n; j < forward->noperands; j++)
    w->map[args[j + 1]] = again_arg_at(op, (uint32_t)m + other[j]);
  for (int k = 0; k < n; k++) {
    int s = again_stack_of(g, args[k + 1]);
    w->map[args[k + 1]] = s >= 0 ? from[s] : again_arg_at(op, (uint32_t)m + carry[k]);
  }
  again_copy_body(w, g, forward, from);
  args = backward->blocks[0]->args.at;
  w->map[args[0]] = op->blocks[0]->args.at[0];
  for (int j = 0; j < backward->noperands; j++) {
    int k = again_dropped_at(g, j);
    w->map[args[j + 1]] = j < m   ? again_arg_at(op, (uint32_t)j)
                          : k < 0 ? again_arg_at(op, (uint32_t)m + slice[j])
                                  : w->map[g->p->forward_end->operands[k]];
  }
  again_copy_body(w, g, backward, NULL);
  again_add_mapped(w, &yield, g->p->backward_end->operands, backward->nresults);
  for (int k = 0; k < backward->nresults; k++) again_set(w, backward->results[k], op->results[k]);
  again_body_end(w, op, &yield);
}
