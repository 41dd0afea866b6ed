/* Hoist: a value that is the same in every iteration of a loop is computed before it. Row i of a
   tensor from outside, with i the counter, becomes a slice that the loop hands to the iteration.
   Contract: values stay the same to the last bit. A constant, a ramp or a view goes out with its
   reader, not on its own, since kernels copy them. A row that the tensor does not have stays a
   gather, which reports it at run time. Inner loops come first, so that an op goes as far out as it
   can.
   Row i along another axis than the first is read in place: no transposed copy of the tensor is
   held. But a tensor with a gradient is transposed once, since the gradients of its rows are then
   stacked as the rows are. */
#include "passes/manager/pass_list.h"

typedef struct Ahead { /* of op i of the body */
  uint32_t i;
  OpId op;
} Ahead;

typedef struct Hoist {
  PassRun *r;
  Entry *e;
  Builder *b;
  bool grads;  /* the entry trains or asks for some */
  bool asks;   /* it has grad ops */
  bool stacks; /* of slices: results of loops are replaced */
  VEC(Ahead) ahead;
  VEC(OpId) ops;     /* of the block that is being written */
  ValueId *by;       /* by value: what it is replaced by */
  bool *movable;     /* by value of the body at hand: it could stand before the loop */
  bool *is_target;   /* by value: a grad of the body is by it, so what is made of it stays */
  uint32_t known;    /* values in it */
  uint32_t capacity; /* elements of movable */
} Hoist;

static bool is_out(const Hoist *h, const Block *body, ValueId v) {
  return value_block(h->e, v) != body;
}

/* The op could stand before the loop: it reads nothing but what is there or can go there. */
static bool can_go(const Hoist *h, const Block *body, ValueId v) {
  return is_out(h, body, v) || h->movable[v];
}

/* A grad is by the value, so it stays. */
static bool is_asked(const Hoist *h, ValueId v) {
  return h->is_target && v < h->known && h->is_target[v];
}

/* Finds what can go, by one walk, as every use follows its definition. It stays so while ops go:
   what can go with its operands can go after them, and no other op gets operands that can. */
static void find_movable(Hoist *h, const Block *body) {
  if (h->capacity < h->e->values.n) {
    h->capacity = 2 * h->e->values.n;
    h->movable = ARENA_ARRAY(h->r->scratch, bool, h->capacity);
  }
  for (uint32_t i = 0; i < body->args.n; i++) h->movable[body->args.at[i]] = false;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(h->e, body->ops.at[i]);
    bool can = !op->nblocks && !(op_info[op->kind].flags & (OPF_EFFECT | OPF_TERMINATOR)) &&
               op->kind != OP_GRAD;
    for (int k = 0; can && k < op->noperands; k++) can = can_go(h, body, op->operands[k]);
    for (int k = 0; k < op->nresults; k++) {
      ValueId v = op->results[k];
      h->movable[v] = can && !is_asked(h, v);
    }
  }
}

/* Moves what makes v before the loop, its operands first. An explicit stack: a chain may be as long
   as the body. */
static void go(Hoist *h, Block *body, Block *outer, ValueId v) {
  typedef struct Frame {
    OpId op;
    int next; /* operand */
  } Frame;
  VEC(Frame) open = {0};
  if (is_out(h, body, v)) return;
  vec_push(h->r->scratch, &open, (Frame){.op = value_at(h->e, v)->def});
  while (open.n) {
    Frame *f = &open.at[open.n - 1];
    Op *op = op_at(h->e, f->op);
    while (f->next < op->noperands && is_out(h, body, op->operands[f->next])) f->next++;
    if (f->next < op->noperands) {
      OpId def = value_at(h->e, op->operands[f->next])->def;
      vec_push(h->r->scratch, &open, (Frame){.op = def});
      continue;
    }
    op->parent = outer;
    vec_push(h->r->scratch, &h->ops, op->id);
    open.n--;
  }
}

static bool is_work(const Op *op) {
  OpClass c = op_info[op->kind].cls;
  return op->nresults > 0 && !op->nblocks && c != CLASS_LEAF && c != CLASS_VIEW &&
         c != CLASS_META && c != CLASS_GLOBAL;
}

/* A part of a tensor from outside, whose gradient is wanted: it goes out on its own, since the loop
   then adds up the gradient of the part instead of that of the tensor. */
static bool is_part(const Hoist *h, const Op *op) {
  return h->asks && op->kind == OP_SLICE &&
         value_type(h->e, op->results[0])->numel < value_type(h->e, op->operands[0])->numel;
}

/* ---- rows by the counter ---- */

static void add_input(Hoist *h, Op *scan, ValueId x) {
  ValueId *operands = ARENA_ARRAY(h->e->module->arena, ValueId, scan->noperands + 1);
  if (scan->noperands) memcpy(operands, scan->operands, sizeof *operands * (size_t)scan->noperands);
  operands[scan->noperands++] = x;
  scan->operands = operands;
}

/* Row i of a tensor from outside: true if it has become a slice. */
static bool slice_row(Hoist *h, Op *scan, const Op *op, Block *outer) {
  Block *body = scan->blocks[0];
  int sign;
  int64_t from;
  if (!row_by_counter(h->e, scan, op, &sign, &from) || !can_go(h, body, op->operands[0]))
    return false;
  go(h, body, outer, op->operands[0]);
  Block made = {.op = outer->op};
  builder_at(h->b, &made);
  builder_like(h->b, op);
  ValueId x = rows_slice(h->b, op->operands[0], from, scan_axis(h->e, scan), sign);
  for (uint32_t i = 0; i < made.ops.n; i++) {
    op_at(h->e, made.ops.at[i])->parent = outer;
    vec_push(h->r->scratch, &h->ops, made.ops.at[i]);
  }
  add_input(h, scan, x);
  Value like = *value_at(h->e, op->results[0]);
  h->by[op->results[0]] = block_add_arg(h->e, body, like);
  return true;
}

/* Whether y has the axes of x with this one in front, the others as they are, and a reshape does
   that: the axis has one element, or each axis before it has. */
static bool reshape_to_front(const Type *x, const Type *y, int axis) {
  bool stays = x->dim[axis] == 1, same = x->dim[axis] == y->dim[0], ones = true;
  for (int i = 1; i < y->rank; i++) {
    same &= x->dim[i - (i <= axis)] == y->dim[i];
    if (i <= axis) ones &= x->dim[i - 1] == 1;
  }
  return same && (stays || ones);
}

/* The axis that the op brings to the front of its operand, the others as they are; 0: none. Where
   an axis has one element, fold has made a reshape of the transpose: rows are read as those of
   longer axes are, so that gradients are added in the same order at each extent. */
static int axis_to_front(const Hoist *h, const Op *op) {
  if (h->grads && op && op->kind == OP_RESHAPE) {
    const Type *x = value_type(h->e, op->operands[0]), *y = value_type(h->e, op->results[0]);
    for (int axis = 1; x->rank == y->rank && axis < x->rank; axis++)
      if (reshape_to_front(x, y, axis)) return axis;
  }
  if (!op || op->kind != OP_TRANSPOSE) return 0;
  const Ints *perm = op->attr[AT_PERM].ints;
  int axis = perm && perm->n ? (int)perm->at[0] : 0;
  for (int i = 1; axis && i < perm->n; i++)
    if (perm->at[i] != i - (i <= axis)) return 0;
  return axis;
}

/* One row of a tensor that is turned for it: taken from each of the tables that lie in it as it is.
   True if the op has become that. */
static bool row_in_place(Hoist *h, const Op *scan, Op *op, uint32_t i, Block *outer) {
  Block *body = scan->blocks[0];
  int sign;
  int64_t from;
  if (op->kind != OP_GATHER || op->attr[AT_BATCH].i) return false;
  const Op *transpose = value_def(h->e, op->operands[0]);
  int axis = axis_to_front(h, transpose);
  if (!axis || value_type(h->e, op->operands[1])->rank) return false;
  if (h->grads && row_by_counter(h->e, scan, op, &sign, &from) && can_go(h, body, op->operands[0]))
    return false;
  if (can_go(h, body, transpose->operands[0])) go(h, body, outer, transpose->operands[0]);
  const Type *t = value_type(h->e, transpose->operands[0]), *id = value_type(h->e, op->operands[1]);
  Block made = {.op = body->op};
  builder_at(h->b, &made);
  builder_like(h->b, op);
  int64_t *lead = ARENA_ARRAY(h->r->scratch, int64_t, t->rank);
  ValueId ids = build_broadcast(h->b, op->operands[1],
                                type_get(h->e->module->ctx, id->dtype, axis, type_axes(t, lead)));
  for (uint32_t k = 0; k < made.ops.n; k++) {
    op_at(h->e, made.ops.at[k])->parent = body;
    vec_push(h->r->scratch, &h->ahead, (Ahead){i, made.ops.at[k]});
  }
  ValueId *operands = ARENA_ARRAY(h->e->module->arena, ValueId, 2);
  operands[0] = transpose->operands[0];
  operands[1] = ids;
  op->operands = operands;
  op->attr[AT_BATCH].i = axis;
  return true;
}

/* ---- the whole ---- */

/* What an inner loop takes slices of is made whole in memory. */
static void inputs_go(Hoist *h, const Op *inner, Block *body, Block *outer) {
  for (int k = scan_carries(inner); k < inner->noperands; k++) {
    if (is_out(h, body, inner->operands[k]) || !can_go(h, body, inner->operands[k])) continue;
    go(h, body, outer, inner->operands[k]);
    h->r->changes++;
  }
}

static void replace(Hoist *h, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    Op *op = op_at(h->e, b->ops.at[i]);
    ValueId *x = (ValueId *)op->operands; /* lists of an entry that is rebuilt below */
    for (int k = 0; k < op->noperands; k++)
      while (x[k] < h->known && h->by[x[k]] != x[k]) x[k] = h->by[x[k]];
    for (int k = 0; k < op->nblocks; k++) replace(h, op->blocks[k]);
  }
}

/* What stays in the body, with what was made for it. */
static void settle(Hoist *h, Block *body) {
  VEC(OpId) left = {0};
  uint32_t k = 0;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    for (; k < h->ahead.n && h->ahead.at[k].i == i; k++)
      vec_push(h->e->module->arena, &left, h->ahead.at[k].op);
    if (body->ops.at[i] != NO_ID && op_at(h->e, body->ops.at[i])->parent == body)
      vec_push(h->e->module->arena, &left, body->ops.at[i]);
  }
  body->ops.at = left.at;
  body->ops.n = left.n;
  body->ops.cap = left.cap;
}

/* A stack of the slices that the loop was given is what it was given. */
static void stacks_go(Hoist *h, const Op *scan) {
  const Block *body = scan->blocks[0];
  const Op *yield = op_at(h->e, body->ops.at[body->ops.n - 1]);
  for (int k = scan_carries(scan); k < scan->nresults; k++)
    for (int i = scan_carries(scan); i < scan->noperands; i++) {
      const ValueId x = scan->operands[i], y = scan->results[k];
      if (yield->operands[k] != body->args.at[i + 1] || is_asked(h, y) ||
          value_type(h->e, x) != value_type(h->e, y))
        continue;
      h->by[y] = x;
      h->stacks = true;
      h->r->changes++;
    }
}

static void hoist_scan(Hoist *h, Op *scan, Block *outer) {
  Block *body = scan->blocks[0];
  bool sliced = false;
  h->ahead.n = 0;
  find_movable(h, body);
  for (uint32_t i = 0; i < body->ops.n; i++) {
    Op *op = op_at(h->e, body->ops.at[i]);
    if (op->parent != body) continue; /* it went with another */
    if (op->kind == OP_SCAN) inputs_go(h, op, body, outer);
    if ((is_work(op) || is_part(h, op)) && can_go(h, body, op->results[0])) {
      go(h, body, outer, op->results[0]);
      h->r->changes++;
    } else if (row_in_place(h, scan, op, i, outer)) {
      h->r->changes++;
    } else if (slice_row(h, scan, op, outer)) {
      sliced = true;
      h->r->changes++;
      body->ops.at[i] = NO_ID;
    }
  }
  settle(h, body);
  if (sliced) replace(h, body);
  stacks_go(h, scan);
}

static void hoist_block(Hoist *h, Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++)
    if (op_at(h->e, b->ops.at[i])->kind == OP_SCAN)
      hoist_block(h, op_at(h->e, b->ops.at[i])->blocks[0]);
  h->ops.at = NULL;
  h->ops.n = h->ops.cap = 0;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    Op *op = op_at(h->e, b->ops.at[i]);
    if (op->kind == OP_SCAN) hoist_scan(h, op, b);
    vec_push(h->r->scratch, &h->ops, op->id);
  }
  if (h->ops.n == b->ops.n) return;
  b->ops.n = 0;
  for (uint32_t i = 0; i < h->ops.n; i++) vec_push(h->e->module->arena, &b->ops, h->ops.at[i]);
}

bool pass_hoist(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    bool any = false, asks = false;
    for (uint32_t i = 0; i < e->ops.n; i++) {
      any |= op_at(e, i)->kind == OP_SCAN;
      asks |= op_at(e, i)->kind == OP_GRAD;
    }
    if (!any) continue;
    Hoist h = {.r = r,
               .e = e,
               .b = builder_new(e, e->body),
               .grads = e->training || asks,
               .asks = asks,
               .known = e->values.n};
    h.b->fold = false;
    h.by = ARENA_ARRAY(r->scratch, ValueId, h.known);
    h.is_target = grad_targets(r->scratch, e);
    for (ValueId v = 0; v < h.known; v++) h.by[v] = v;
    int64_t before = r->changes;
    hoist_block(&h, e->body);
    if (h.stacks) replace(&h, e->body);
    if (r->changes > before) entry_copy(e);
  }
  return true;
}
