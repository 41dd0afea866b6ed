/* Values and bodies of loops that are made anew; see loops_build.c. Contract: values keep their
   names and layouts, and ops their locations. */
#include "passes/remat/loops_again.h"

bool again_is_stacked(const Again *g, int result) {
  return result >= scan_carries(g->p->forward) && !g->schedule->dropped[result] &&
         (g->p->droppable[result] || g->p->alive[result]);
}

int again_stack_of(const Again *g, ValueId v) {
  for (int k = scan_carries(g->p->forward); k < g->p->forward->nresults; k++)
    if (g->p->forward_end->operands[k] == v && again_is_stacked(g, k)) return k;
  return -1;
}

int again_dropped_at(const Again *g, int j) {
  const Op *forward = g->p->forward;
  for (int k = scan_carries(forward); j >= scan_carries(g->p->backward) && k < forward->nresults;
       k++)
    if (g->schedule->dropped[k] && forward->results[k] == g->p->backward->operands[j]) return k;
  return -1;
}

static const Type *row_type(Climb *w, const Type *t) {
  int64_t *axis = ARENA_ARRAY(w->a, int64_t, t->rank);
  return type_get(w->b->m->ctx, t->dtype, t->rank - 1, type_axes(t, axis) + 1);
}

const Type *again_counts_type(Climb *w, int64_t n) { return type_get(w->b->m->ctx, DT_I32, 1, &n); }

ValueId again_row_at(Climb *w, ValueId table, ValueId number) {
  return build(w->b, OP_GATHER, (ValueId[]){table, number}, 2, NULL, NULL);
}

ValueId again_with_row(Climb *w, ValueId table, ValueId row, ValueId number) {
  const Type *t = value_type(w->b->e, row);
  ValueId in[] = {table, build_reshape(w->b, row, type_stacked(w->b->m->ctx, t, 1)), number};
  return build(w->b, OP_DYNAMIC_UPDATE, in, 3, NULL, NULL);
}

void again_names_of(Climb *w, const Op *op) {
  builder_like(w->b, op);
  w->b->name = NULL;
}

ValueId again_named(Climb *w, ValueId old, ValueId now) {
  Value *v = value_at(w->b->e, now);
  if (!v->name) v->name = value_at(w->old, old)->name;
  return now;
}

void again_set(Climb *w, ValueId old, ValueId now) { w->map[old] = again_named(w, old, now); }

Op *again_loop_begin(Climb *w, const Op *like, int64_t trips, const ValueList *carries,
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
  again_names_of(w, like);
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

void again_body_end(Climb *w, const Op *op, const ValueList *yield) {
  again_names_of(w, op);
  build_op(w->b, OP_YIELD, yield->at, (int)yield->n, NULL, NULL, 0);
  builder_at(w->b, op->parent);
}

ValueId again_arg_at(const Op *loop, uint32_t k) { return loop->blocks[0]->args.at[k + 1]; }

void again_add_results(Climb *w, ValueList *out, const Op *op, int n) {
  for (int k = 0; k < n; k++) vec_push(w->a, out, op->results[k]);
}

void again_add_args(Climb *w, ValueList *out, const Op *loop, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) vec_push(w->a, out, again_arg_at(loop, k));
}

void again_add_mapped(Climb *w, ValueList *out, const ValueId *old, int n) {
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
  again_add_mapped(w, &operands, op->operands, op->noperands);
  for (int r = 0; r < op->nresults; r++) {
    int k = again_stack_of(g, op->results[r]);
    vec_push(w->a, &types, value_type(w->old, op->results[r]));
    if (k >= 0) vec_push(w->a, &operands, from[k]);
  }
  again_names_of(w, op);
  Op *copy =
      build_op(w->b, OP_KERNEL, operands.at, (int)operands.n, op->attr, types.at, (int)types.n);
  Block *into = copy->blocks[0];
  builder_at(w->b, into);
  for (uint32_t i = 0; i < body->args.n; i++)
    w->map[body->args.at[i]] = block_add_arg(w->b->e, into, *value_at(w->old, body->args.at[i]));
  for (int r = 0; r < op->nresults; r++) {
    Value like = *value_at(w->old, op->results[r]);
    arg[r] = again_stack_of(g, op->results[r]) >= 0 ? block_add_arg(w->b->e, into, like) : NO_ID;
  }
  for (uint32_t i = 0; i + 1 < body->ops.n; i++) {
    const Op *inner = op_at(w->old, body->ops.at[i]);
    build_copy(w->b, w->old, inner, w->map);
    for (int r = 0; r < op->nresults; r++)
      if (arg[r] != NO_ID && inner->nresults && yield->operands[r] == inner->results[0])
        w->map[inner->results[0]] = arg[r];
  }
  again_add_mapped(w, &out, yield->operands, op->nresults);
  again_body_end(w, copy, &out);
  for (int r = 0; r < op->nresults; r++) {
    value_at(w->b->e, copy->results[r])->layout = value_at(w->old, op->results[r])->layout;
    again_set(w, op->results[r], copy->results[r]);
  }
}

void again_copy_body(Climb *w, const Again *g, const Op *scan, const ValueId *from) {
  const Block *body = scan->blocks[0];
  uint32_t first = w->b->e->ops.n;
  for (uint32_t i = 0; i + 1 < body->ops.n; i++) {
    const Op *op = op_at(w->old, body->ops.at[i]);
    if (from && op->kind == OP_KERNEL)
      copy_kernel(w, g, op, from);
    else
      build_copy(w->b, w->old, op, w->map);
    for (int r = 0; from && r < op->nresults; r++) {
      int k = again_stack_of(g, op->results[r]);
      if (k >= 0) w->map[op->results[r]] = from[k];
    }
  }
  for (uint32_t i = first; from && i < w->b->e->ops.n; i++) w->b->e->ops.at[i]->backward = true;
}
