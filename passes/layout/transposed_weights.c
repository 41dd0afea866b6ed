/* Weights that a loop reads transposed: B of A B', as in each step of the gradient with respect to
   the output of a recurrent cell. A product packs such a weight by panels, which for few rows takes
   a quarter of its time. No step changes the weight, so it is copied into these panels once, before
   the loop. Contract: layouts are decided. A copy lies in panels of the other axis, and products
   read it in the order of sums they always have. The copy costs its bytes while the loop runs, so
   only few bytes are copied beside those that the loop reads and stacks, and none under a byte
   limit. */
#include "passes/layout/layout_impl.h"

enum {
  PACK_ROWS = 128, /* of a product: packing is little beside more of them */
  PACK_TRIPS = 4,  /* of a loop, which pay for the copy */
  PACK_SHARE = 16, /* copies have at most 1 / 16 of the bytes of the loop's slices and stacks, */
  PACK_SMALL = 256 * 1024 /* or so many */
};

typedef struct TransposedWeights {
  PassRun *r;
  const Entry *e;     /* that is rebuilt */
  ValueId *by;        /* by old value: its copy, or NO_ID */
  VEC(ValueId) known; /* that have one in the loops around */
  uint64_t left;      /* bytes that copies for the loop may still take */
} TransposedWeights;

static bool is_inside(const Block *b, const Op *loop) {
  for (; b->op; b = b->op->parent)
    if (b->op == loop) return true;
  return false;
}

/* The operand of op, a product or a kernel with one, that is a weight to be packed; -1: none. Of a
   kernel it is the product's alone. */
static int transposed_operand(const TransposedWeights *t, const Op *op) {
  const Op *product = op->kind == OP_MATMUL ? op : NULL;
  const Block *b = op->kind == OP_KERNEL ? op->blocks[0] : NULL;
  for (uint32_t i = 0; b && i < b->ops.n; i++)
    if (op_at(t->e, b->ops.at[i])->kind == OP_MATMUL) product = op_at(t->e, b->ops.at[i]);
  if (!product || !product->attr[AT_TB].i) return -1;
  ValueId v = product->operands[1];
  const Type *y = value_type(t->e, product->results[0]);
  if (y->rank != 2 || y->dim[0] > PACK_ROWS) return -1;
  const Layout *to = layout_weight(t->r->m->ctx, t->r->opt->target, value_type(t->e, v), 0);
  if (!to || value_at(t->e, v)->layout == to) return -1;
  int at = b ? -1 : 1, uses = 0;
  for (uint32_t i = 0; b && i < b->args.n; i++)
    if (b->args.at[i] == v) at = (int)i;
  for (uint32_t i = 0; b && i < b->ops.n; i++)
    for (int k = 0; k < op_at(t->e, b->ops.at[i])->noperands; k++)
      uses += op_at(t->e, b->ops.at[i])->operands[k] == v;
  return uses > 1 || (!b && op->operands[0] == v) ? -1 : at;
}

/* ---- before a loop ---- */

static uint64_t bytes_for(const TransposedWeights *t, const Op *loop) {
  int carries = scan_carries(loop);
  uint64_t bytes = 0;
  for (int k = carries; k < loop->noperands; k++)
    bytes += value_type(t->e, loop->operands[k])->bytes;
  for (int k = carries; k < loop->nresults; k++) bytes += value_type(t->e, loop->results[k])->bytes;
  bytes /= PACK_SHARE;
  return bytes > PACK_SMALL ? bytes : PACK_SMALL;
}

static void copy_for(TransposedWeights *t, Builder *b, const Op *loop, const Block *body,
                     ValueId *map) {
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(t->e, body->ops.at[i]);
    if (op->kind == OP_SCAN) copy_for(t, b, loop, op->blocks[0], map);
    int at = transposed_operand(t, op);
    ValueId v = at < 0 ? NO_ID : op->operands[at];
    if (v == NO_ID || t->by[v] != NO_ID || is_inside(value_block(t->e, v), loop)) continue;
    const Type *type = value_type(t->e, v);
    if (type->bytes > t->left) continue;
    t->left -= type->bytes;
    Op *made = build_op(b, OP_COPY, &map[v], 1, NULL, &type, 1);
    Value *to = value_at(b->e, made->results[0]);
    to->layout = layout_weight(t->r->m->ctx, t->r->opt->target, type, 0);
    to->name = value_at(t->e, v)->name;
    t->by[v] = made->results[0];
    vec_push(t->r->scratch, &t->known, v);
    t->r->changes++;
  }
}

/* ---- rebuilding ---- */

static void transposed_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  TransposedWeights *t = data;
  t->e = old;
  uint32_t known = t->known.n;
  if (op->kind == OP_SCAN && scan_trips(op) >= PACK_TRIPS) {
    t->left = bytes_for(t, op);
    copy_for(t, b, op, op->blocks[0], map);
  }
  int at = transposed_operand(t, op);
  ValueId v = at < 0 ? NO_ID : op->operands[at], packed = v == NO_ID ? NO_ID : t->by[v];
  if (packed == NO_ID) {
    build_copy(b, old, op, map);
  } else {
    ValueId saved = map[v];
    map[v] = packed;
    build_copy(b, old, op, map);
    map[v] = saved;
    const Op *made = value_def(b->e, map[op->results[0]]);
    if (made->kind == OP_KERNEL)
      value_at(b->e, made->blocks[0]->args.at[at])->layout = value_at(b->e, packed)->layout;
  }
  while (t->known.n > known) t->by[t->known.at[--t->known.n]] = NO_ID;
}

void layout_transposed_weights(PassRun *r, Entry *e) {
  const Target *target = r->opt->target;
  if (!target || !target->panel || r->opt->limit.bytes || r->opt->limit.share > 0) return;
  bool any = false;
  for (uint32_t i = 0; i < e->ops.n; i++) any |= op_at(e, i)->kind == OP_SCAN;
  if (!any) return;
  TransposedWeights t = {.r = r, .e = e, .by = ARENA_ARRAY(r->scratch, ValueId, e->values.n + 1)};
  for (ValueId v = 0; v < e->values.n; v++) t.by[v] = NO_ID;
  entry_rebuild(e, transposed_op, &t, false, false);
}

static bool is_read_in_loop(const Entry *e, ValueId v) {
  for (OpId i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    bool reads = false, in_loop = false;
    for (int k = 0; k < op->noperands; k++) reads |= op->operands[k] == v;
    for (const Block *b = op->parent; reads && b->op; b = b->op->parent)
      in_loop |= b->op->kind == OP_SCAN;
    if (in_loop) return true;
  }
  return false;
}

uint64_t layout_copies(const Entry *e, int align) {
  uint64_t bytes = 0, unit = (uint64_t)align;
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    const Layout *l = op->kind == OP_COPY ? value_at(e, op->results[0])->layout : NULL;
    if (!l || !l->nr || !is_read_in_loop(e, op->results[0])) continue;
    bytes += (plan_of(e)->place[op->results[0]].bytes + unit - 1) / unit * unit;
  }
  return bytes;
}
