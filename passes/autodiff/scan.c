/* The backward pass of a loop: a loop in the other direction behind it.
   Contract: the backward loop carries the gradients of the carries, and one accumulator for every
   value from outside that has a gradient. It stacks the gradients of slices. The forward loop
   stacks each value that the backward body reads of the forward body, and gets a result for it.
   Some values need no stack: values from outside and their rows by the counter, slices, the
   counter, and values that are stacked already. Element-wise work and views of such values are
   recomputed by the backward body. An accumulator is left out if its sum follows from stacks: the
   gradient is then computed behind the loop (scan_sums.c). Sums have the order of the unrolled
   program, except for the part of a carry that comes from a stack. */
#include "passes/autodiff/autodiff_impl.h"

/* ---- what the loss depends on ---- */

/* By value, of the loop or from outside: it has a gradient in some iteration. */
static bool *find_reached(ScanBack *s) {
  const Block *b = s->scan->blocks[0];
  bool *reached = ARENA_ARRAY(s->a, bool, s->e->values.n);
  for (int k = 0; k < s->scan->nresults; k++)
    if (grad_of(s->g, s->scan, k) != NO_ID) reached[s->yield->operands[k]] = true;
  for (bool more = true; more;) {
    more = false;
    for (uint32_t i = b->ops.n; i-- > 0;) {
      const Op *op = op_at(s->e, b->ops.at[i]);
      bool any = false;
      for (int k = 0; k < op->nresults; k++) any |= reached[op->results[k]];
      if (!any || !op_info[op->kind].grad) continue;
      for (int k = 0; k < op->noperands; k++) reached[op->operands[k]] = true;
      ValueList captured = {0};
      plan_captured(s->a, s->e, op, &captured);
      for (uint32_t k = 0; k < captured.n; k++) reached[captured.at[k]] = true;
    }
    for (int k = 0; k < scan_carries(s->scan); k++) {
      ValueId next = s->yield->operands[k];
      if (!reached[b->args.at[k + 1]] || reached[next]) continue;
      more = reached[next] = true;
    }
  }
  return reached;
}

static ValueId zeros(Builder *b, const Type *t) { return build_const(b, t, 0); }

/* ---- the backward body ---- */

static ValueId add_arg(ScanBack *s, Block *b, ValueId like) {
  return block_add_arg(s->e, b, (Value){.type = value_type(s->e, like)});
}

/* Arguments of the backward body: gradients of carries, accumulators, and slices of stacked
   gradients. */
static void come_in(ScanBack *s, Block *b, const bool *reached) {
  const Op *scan = s->scan;
  Builder *w = s->g->b;
  Diff *d = s->d;
  for (int k = 0; k < scan_carries(scan); k++) {
    ValueId arg = scan->blocks[0]->args.at[k + 1], dy = grad_of(s->g, scan, k);
    s->carry[k] = NO_ID;
    if (!diff_active(d, arg) || !(reached[arg] || dy != NO_ID)) continue;
    vec_push(s->a, &s->inits, dy != NO_ID ? dy : zeros(w, value_type(s->e, arg)));
    vec_push(s->a, &s->types_of, arg);
    s->carry[k] = add_arg(s, b, arg);
  }
  ValueList captured = {0};
  bool *been = ARENA_ARRAY(s->a, bool, s->e->values.n);
  plan_captured(s->a, s->e, scan, &captured);
  for (uint32_t i = 0; i < captured.n; i++) {
    ValueId v = captured.at[i];
    if (!diff_active(d, v) || !reached[v] || been[v]) continue;
    been[v] = true;
    ValueId so_far = d->sum[v - d->lo];
    vec_push(s->a, &s->inits, so_far != NO_ID ? so_far : zeros(w, value_type(s->e, v)));
    vec_push(s->a, &s->types_of, v);
    vec_push(s->a, &s->outside, v);
    vec_push(s->a, &s->so_far, so_far);
    d->sum[v - d->lo] = add_arg(s, b, v);
  }
}

/* Gradients of what an iteration gives. */
static void seed(ScanBack *s, Block *b) {
  const Op *scan = s->scan;
  for (int k = 0; k < scan_carries(scan); k++)
    if (s->carry[k] != NO_ID) diff_add(s->g, s->yield->operands[k], s->carry[k]);
  for (int k = scan_carries(scan); k < scan->nresults; k++) {
    ValueId dy = grad_of(s->g, scan, k), y = s->yield->operands[k];
    if (dy == NO_ID || !diff_active(s->d, y)) continue;
    ValueId slice = add_arg(s, b, y);
    vec_push(s->a, &s->xs, dy);
    diff_add(s->g, y, slice);
  }
}

/* ---- values of the forward body ---- */

static bool is_cheap(const Op *op) {
  OpClass c = op_info[op->kind].cls;
  return op->nresults == 1 && !op->nblocks &&
         (c == CLASS_ELEMENT || c == CLASS_VIEW || c == CLASS_LEAF);
}

ValueId back_stack_of(const ScanBack *s, ValueId v) {
  for (int k = scan_carries(s->scan); k < s->scan->nresults; k++)
    if (s->yield->operands[k] == v) return s->scan->results[k];
  return NO_ID;
}

int back_slice_of(const ScanBack *s, ValueId v) {
  const Value *x = value_at(s->e, v);
  return x->def == NO_ID && (int)x->index > scan_carries(s->scan) ? (int)x->index - 1 : -1;
}

bool back_is_row(const ScanBack *s, const Op *op, int *sign, int64_t *from) {
  return row_by_counter(s->e, s->scan, op, sign, from) &&
         value_block(s->e, op->operands[0]) != s->scan->blocks[0];
}

bool back_is_there(const ScanBack *s, ValueId v) {
  return value_block(s->e, v) != s->scan->blocks[0] || s->available[v]; /* or from outside */
}

/* Whether an argument of the forward body is available: not a carry, which is overwritten. */
static void argument_available(ScanBack *s, ValueId v) {
  s->available[v] =
      value_at(s->e, v)->index == 0 || back_slice_of(s, v) >= 0 || back_stack_of(s, v) != NO_ID;
}

/* Whether the results of an op are available, once that of its operands is known. */
static void results_available(ScanBack *s, const Op *op) {
  int sign;
  int64_t from;
  bool again = is_cheap(op) || back_is_row(s, op, &sign, &from);
  for (int k = 0; again && k < op->noperands; k++) again = back_is_there(s, op->operands[k]);
  for (int k = 0; k < op->nresults; k++)
    s->available[op->results[k]] = again || back_stack_of(s, op->results[k]) != NO_ID;
}

static void find_available(ScanBack *s) {
  const Block *b = s->scan->blocks[0];
  s->available = ARENA_ARRAY(s->a, bool, s->e->values.n);
  for (uint32_t i = 0; i < b->args.n; i++) argument_available(s, b->args.at[i]);
  for (uint32_t i = 0; i < b->ops.n; i++) results_available(s, op_at(s->e, b->ops.at[i]));
}

static ValueId slice_again(ScanBack *s, ValueId v, ValueId of) {
  ValueId arg =
      block_add_arg(s->e, s->back->blocks[0],
                    (Value){.type = value_type(s->e, v), .name = value_at(s->e, v)->name});
  vec_push(s->a, &s->xs, of);
  return arg;
}

const Type *back_stack_type(const ScanBack *s, ValueId v) {
  const Type *t = type_stacked(s->e->module->ctx, value_type(s->e, v), scan_axis(s->e, s->scan));
  if (!t) gc_bug(s->e->module->ctx, "a stack of more bytes than can be addressed");
  return t;
}

ValueId back_save(ScanBack *s, ValueId v) {
  Arena *m = s->e->module->arena;
  Op *scan = s->scan, *yield = op_at(s->e, s->yield->id);
  Value stack = {.type = back_stack_type(s, v),
                 .name = value_at(s->e, v)->name,
                 .def = scan->id,
                 .index = (uint32_t)scan->nresults};
  ValueId id = s->e->values.n;
  vec_push(m, &s->e->values, stack);
  ValueId *results = ARENA_ARRAY(m, ValueId, scan->nresults + 1);
  ValueId *operands = ARENA_ARRAY(m, ValueId, yield->noperands + 1);
  memcpy(results, scan->results, sizeof *results * (size_t)scan->nresults);
  memcpy(operands, yield->operands, sizeof *operands * (size_t)yield->noperands);
  results[scan->nresults++] = id;
  operands[yield->noperands++] = v;
  scan->results = results;
  yield->operands = operands;
  return id;
}

/* The value has a counterpart in the backward body, or can get one without computation. */
static bool comes_in(ScanBack *s, ValueId v) {
  if (s->there[v] != NO_ID) return true;
  if (value_block(s->e, v) != s->scan->blocks[0]) {
    s->there[v] = v;
    return true;
  }
  const Value *x = value_at(s->e, v);
  if (x->def == NO_ID && x->index == 0) {
    s->there[v] = s->back->blocks[0]->args.at[0];
    return true;
  }
  int slice = back_slice_of(s, v);
  ValueId stack = slice >= 0 ? s->scan->operands[slice] : back_stack_of(s, v);
  if (stack == NO_ID && !back_is_there(s, v)) {
    stack = back_save(s, v);
    s->available[v] = true;
  }
  if (stack == NO_ID) return false;
  s->there[v] = slice_again(s, v, stack);
  return true;
}

/* Gives a value of the forward body its counterpart in the backward body. With an explicit stack,
   since a chain of recomputed ops may be as long as the body. */
static void bring_value(ScanBack *s, ValueId v) {
  typedef struct Frame {
    const Op *op;
    int next; /* operand */
  } Frame;
  VEC(Frame) open = {0};
  if (comes_in(s, v)) return;
  vec_push(s->a, &open, (Frame){.op = value_def(s->e, v)});
  while (open.n) {
    Frame *f = &open.at[open.n - 1];
    const Op *op = f->op;
    while (f->next < op->noperands && comes_in(s, op->operands[f->next])) f->next++;
    if (f->next < op->noperands) {
      vec_push(s->a, &open, (Frame){.op = value_def(s->e, op->operands[f->next])});
      continue;
    }
    Block *here = s->g->b->b;
    builder_at(s->g->b, s->again);
    build_copy(s->g->b, s->e, op, s->there);
    builder_at(s->g->b, here);
    open.n--;
  }
}

/* Values that the backward body reads of the forward body, those defined first first. */
static void find_needed(ScanBack *s, const Block *b, bool *needed) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(s->e, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++)
      if (op->operands[k] < s->n && value_block(s->e, op->operands[k]) == s->scan->blocks[0])
        needed[op->operands[k]] = true;
    for (int k = 0; k < op->nblocks; k++) find_needed(s, op->blocks[k], needed);
  }
}

static void replace(ScanBack *s, const Block *b, const bool *needed) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(s->e, b->ops.at[i]);
    ValueId *x = (ValueId *)op->operands; /* of an op that was built here */
    for (int k = 0; k < op->noperands; k++)
      if (x[k] < s->n && needed[x[k]]) x[k] = s->there[x[k]];
    for (int k = 0; k < op->nblocks; k++) replace(s, op->blocks[k], needed);
  }
}

static void bring_in(ScanBack *s, Block *b) {
  const Block *from = s->scan->blocks[0];
  s->n = s->e->values.n;
  s->there = ARENA_ARRAY(s->a, ValueId, s->n);
  memset(s->there, 0xff, sizeof *s->there * s->n); /* NO_ID */
  bool *needed = ARENA_ARRAY(s->a, bool, s->n);
  find_needed(s, b, needed);
  for (uint32_t i = 0; i < from->args.n; i++) {
    argument_available(s, from->args.at[i]);
    if (needed[from->args.at[i]]) bring_value(s, from->args.at[i]);
  }
  for (uint32_t i = 0; i < from->ops.n; i++) { /* what is saved is available to what comes later */
    const Op *op = op_at(s->e, from->ops.at[i]);
    results_available(s, op);
    for (int k = 0; k < op->nresults; k++)
      if (needed[op->results[k]]) bring_value(s, op->results[k]);
  }
  replace(s, b, needed);
  Block all = {0};
  Arena *m = s->e->module->arena;
  for (int part = 0; part < 2; part++) {
    const Block *ops = part ? b : s->again;
    for (uint32_t i = 0; i < ops->ops.n; i++) {
      op_at(s->e, ops->ops.at[i])->parent = b;
      vec_push(m, &all.ops, ops->ops.at[i]);
    }
  }
  b->ops.at = all.ops.at;
  b->ops.n = all.ops.n;
  b->ops.cap = all.ops.cap;
}

/* ---- the loop ---- */

/* Stacked results of an iteration: gradients of slices, and operands of sums after the loop. */
static void find_given(ScanBack *s, const Block *b, const bool *reached) {
  const Op *scan = s->scan;
  for (int k = scan_carries(scan); k < scan->noperands; k++) {
    ValueId arg = scan->blocks[0]->args.at[k + 1];
    if (!diff_active(s->d, arg) || !reached[arg]) continue;
    ValueId sum = s->d->sum[arg - s->d->lo];
    vec_push(s->a, &s->given, sum != NO_ID ? sum : zeros(s->g->b, value_type(s->e, arg)));
  }
  back_find_sums(s, b);
}

/* Before that: gradients of the carries, accumulators. */
static void go_out(ScanBack *s, Attr attr[MAX_ATTRS]) {
  Builder *w = s->g->b;
  Diff *d = s->d;
  VEC(ValueId) yield = {0};
  for (uint32_t i = 0; i < s->types_of.n; i++) {
    ValueId v = s->types_of.at[i], sum = d->sum[v - d->lo];
    vec_push(s->a, &yield, sum != NO_ID ? sum : zeros(w, value_type(s->e, v)));
  }
  attr[AT_CARRIES].i = yield.n;
  for (uint32_t i = 0; i < s->given.n; i++) vec_push(s->a, &yield, s->given.at[i]);
  build_op(w, OP_YIELD, yield.at, (int)yield.n, NULL, NULL, 0);
}

static Op *build_back(ScanBack *s, Block *body, const Attr *attr) {
  VEC(const Type *) types = {0};
  VEC(ValueId) operands = {0};
  for (uint32_t i = 0; i < s->types_of.n; i++) {
    vec_push(s->a, &types, value_type(s->e, s->types_of.at[i]));
    vec_push(s->a, &operands, s->inits.at[i]);
  }
  for (uint32_t i = 0; i < s->given.n; i++)
    vec_push(s->a, &types, back_stack_type(s, s->given.at[i]));
  for (uint32_t i = 0; i < s->xs.n; i++) vec_push(s->a, &operands, s->xs.at[i]);
  Op *back = build_op(s->g->b, OP_SCAN, operands.at, (int)operands.n, attr, types.at, (int)types.n);
  back->blocks[0] = body;
  body->op = back;
  return back;
}

/* The gradients after the loop. */
static void hand_over(ScanBack *s, const bool *reached, const Op *back) {
  const Op *scan = s->scan;
  uint32_t first = s->types_of.n - s->outside.n; /* of the accumulators */
  for (uint32_t i = 0; i < s->outside.n; i++)
    s->d->sum[s->outside.at[i] - s->d->lo] =
        s->behind[i].n ? back_sum(s, back, i) : back->results[first + i];
  int n = 0;
  for (int k = 0; k < scan_carries(scan); k++)
    if (s->carry[k] != NO_ID) grad_to(s->g, scan, k, back->results[n++]);
  n = (int)s->types_of.n;
  for (int k = scan_carries(scan); k < scan->noperands; k++) {
    ValueId arg = scan->blocks[0]->args.at[k + 1];
    if (diff_active(s->d, arg) && reached[arg]) grad_to(s->g, scan, k, back->results[n++]);
  }
}

void diff_back_scan(GradCtx *g, const Op *scan) {
  Diff *d = g->state;
  ScanBack s = {.g = g, .d = d, .e = g->b->e, .a = d->r->scratch};
  s.scan = op_at(s.e, scan->id);
  s.yield = plan_yield(s.e, scan);
  s.carry = ARENA_ARRAY(s.a, ValueId, scan_carries(scan) + 1);
  Arena *m = s.e->module->arena;
  Block *body = ARENA_NEW(m, Block), *outer = g->b->b;
  s.again = ARENA_NEW(m, Block);
  struct ConsTable *cons = g->b->cons;
  const bool *reached = find_reached(&s);
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = scan->attr[AT_TRIPS],
                          [AT_REVERSE] = {.i = !scan->attr[AT_REVERSE].i},
                          [AT_EXTENT] = scan->attr[AT_EXTENT]};
  (void)block_add_arg(s.e, body, *value_at(s.e, scan->blocks[0]->args.at[0]));
  come_in(&s, body, reached);
  builder_at(g->b, body);
  seed(&s, body);
  diff_back(g, scan->blocks[0], 0, scan->blocks[0]->ops.n);
  find_available(&s);
  find_given(&s, body, reached);
  go_out(&s, attr);
  Op holder = {.blocks = &body};
  s.back = &holder;
  bring_in(&s, body);
  builder_at(g->b, outer);
  g->b->cons = cons;
  g->b->loc = scan->loc;
  g->b->scope = scan->scope;
  hand_over(&s, reached, build_back(&s, body, attr));
}
