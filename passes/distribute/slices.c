/* Optimizer state in slices, one on each rank (ZeRO: Rajbhandari et al., 2020). Contract: a sliced
   global is read by entries that train alone; rank r has run r of its elements, in row-major order.
   All ranks' runs are as long, the last of them may end behind the elements: nothing is made of
   what lies there. The update of a parameter is then of its slice: gradients are reduce-scattered
   as soon as they are complete, and the new parameter is gathered. */
#include "passes/distribute/distribute_impl.h"

bool slices_fit(const Type *t, int ranks) {
  for (int i = 0; i < t->rank; i++)
    if (type_extent(t, i)) return false;
  if (t->numel % ranks && t->numel > INT32_MAX - ranks) return false; /* positions are i32 */
  return t->numel >= ranks;
}

const Type *slice_type(Ctx *c, const Type *t, int ranks) {
  return type_get(c, t->dtype, 1, (const int64_t[]){slice_rows(t->numel, ranks)});
}

/* ---- which ---- */

static void exclude(const Entry *e, const Block *b, bool *sliced) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    bool global = op_info[op->kind].cls == CLASS_GLOBAL;
    if (global && (!e->training || e->ranks || b != e->body)) sliced[op->attr[AT_GLOBAL].i] = false;
    for (int k = 0; k < op->nblocks; k++) exclude(e, op->blocks[k], sliced);
  }
}

/* Small states stay whole while all of them are at most a WHOLE-th of all elements: slices of them
   would save little, and take messages of latency alone. Those of one size stay alike, so that all
   states of a parameter do. */
enum { WHOLE = 100 };

static void keep_small(const Module *m, bool *sliced) {
  int64_t all = 0, size = 0, kept = 0;
  for (uint32_t i = 0; i < m->globals.n; i++)
    if (sliced[i]) all += m->globals.at[i].type->numel;
  for (;;) {
    int64_t least = INT64_MAX, of_size = 0;
    for (uint32_t i = 0; i < m->globals.n; i++) {
      int64_t n = m->globals.at[i].type->numel;
      if (!sliced[i] || n <= size || n > least) continue;
      of_size = n < least ? n : of_size + n;
      least = n;
    }
    if (!of_size || kept + of_size > all / WHOLE) break;
    kept += of_size;
    size = least;
  }
  for (uint32_t i = 0; i < m->globals.n; i++)
    if (m->globals.at[i].type->numel <= size) sliced[i] = false;
}

bool *slices_choose(Arena *a, const Module *m, int ranks) {
  bool *sliced = ARENA_ARRAY(a, bool, 2 * m->globals.n + 1); /* params may get copies */
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    sliced[i] = g->kind == GLOBAL_OPTIMIZER && !g->whole && slices_fit(g->type, ranks);
  }
  for (uint32_t k = 0; k < m->entries.n; k++)
    exclude(m->entries.at[k], m->entries.at[k]->body, sliced);
  keep_small(m, sliced);
  return sliced;
}

/* From the stores back through element-wise ops, to gradients: these are summed over the ranks
   once, where the backward pass has them complete. */
bool *slices_updates(Arena *a, const Entry *e, const bool *sliced, int ranks) {
  bool *update = ARENA_ARRAY(a, bool, e->values.n + 1);
  for (uint32_t i = e->body->ops.n; i-- > 0;) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    const OpInfo *info = &op_info[op->kind];
    bool through = info->cls == CLASS_ELEMENT && !(info->flags & OPF_POSITION) && !op->backward &&
                   update[op->results[0]];
    bool store = op->kind == OP_STORE && sliced[op->attr[AT_GLOBAL].i];
    for (int k = 0; k < op->noperands && (through || store); k++)
      update[op->operands[k]] = slices_fit(value_type(e, op->operands[k]), ranks);
  }
  return update;
}

/* ---- between the whole and slices ---- */

static ValueId flat(Builder *b, ValueId x) {
  const Type *t = value_type(b->e, x);
  return build_reshape(b, x, type_get(b->m->ctx, t->dtype, 1, &t->numel));
}

/* By element of the rank's slice: where it is in the whole. */
static ValueId positions(Builder *b, const Type *t, ValueId rank) {
  Attr along[MAX_ATTRS] = {[AT_AXIS] = {.i = 0}};
  ValueId size = build_const_int(b, value_type(b->e, rank), t->numel);
  ValueId first = build2(b, OP_MUL, rank, size);
  return build2(b, OP_ADD, build(b, OP_IOTA, NULL, 0, along, t), build_broadcast(b, first, t));
}

/* Behind the end lies the last element again, of which an update makes what it makes of that. */
static ValueId slice_by_element(Builder *b, ValueId x, const Type *slice, ValueId rank) {
  ValueId at = positions(b, type_with_dtype(b->m->ctx, slice, DT_I32), rank);
  ValueId last = build_const_int(b, value_type(b->e, at), value_type(b->e, x)->numel - 1);
  return build(b, OP_GATHER, (ValueId[]){x, build2(b, OP_MIN, at, last)}, 2, NULL, NULL);
}

ValueId slice_of(Builder *b, ValueId x, int ranks) {
  Ctx *c = b->m->ctx;
  const Type *t = value_type(b->e, x), *slice = slice_type(c, t, ranks);
  Attr attr[MAX_ATTRS] = {0};
  if (value_const(b->e, x, &attr[AT_VALUE])) return build(b, OP_CONST, NULL, 0, attr, slice);
  ValueId rank = build(b, OP_RANK, NULL, 0, NULL, type_scalar(c, DT_I32));
  if (t->numel % ranks) return slice_by_element(b, flat(b, x), slice, rank);
  ValueId id = build_reshape(b, rank, type_get(c, DT_I32, 1, (const int64_t[]){1}));
  x = build_reshape(b, x, type_get(c, t->dtype, 2, (const int64_t[]){ranks, slice->numel}));
  x = build(b, OP_GATHER, (ValueId[]){x, id}, 2, NULL, NULL);
  return build_reshape(b, x, slice);
}

ValueId slice_zero_behind(Builder *b, ValueId x, const Type *whole, int ranks) {
  const Type *t = value_type(b->e, x);
  if (whole->numel % ranks == 0) return x;
  ValueId rank = build(b, OP_RANK, NULL, 0, NULL, type_scalar(b->m->ctx, DT_I32));
  ValueId at = positions(b, type_with_dtype(b->m->ctx, t, DT_I32), rank);
  ValueId end = build_const_int(b, value_type(b->e, at), whole->numel);
  return build3(b, OP_WHERE, build2(b, OP_LT, at, end), x, build_const(b, t, 0));
}

ValueId slice_sum(Builder *b, ValueId x, int ranks) {
  x = flat(b, x);
  return build(b, OP_REDUCE_SCATTER, &x, 1, NULL,
               slice_type(b->m->ctx, value_type(b->e, x), ranks));
}

ValueId slice_gather(Builder *b, ValueId slice, const Type *whole) {
  const Type *all = type_get(b->m->ctx, whole->dtype, 1, &whole->numel);
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = 0}};
  return build_reshape(b, build(b, OP_ALL_GATHER, &slice, 1, attr, all), whole);
}

/* ---- globals ---- */

typedef struct Slices {
  const bool *sliced;
  int ranks;
} Slices;

static void slice_initial(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const Slices *s = data;
  if (op->kind != OP_STORE || !s->sliced[op->attr[AT_GLOBAL].i]) {
    build_copy(b, old, op, map);
    return;
  }
  builder_like(b, op);
  ValueId x = slice_of(b, map[op->operands[0]], s->ranks);
  build_op(b, OP_STORE, &x, 1, op->attr, NULL, 0);
}

void slices_store(Module *m, const bool *sliced, uint32_t n, int ranks) {
  Slices s = {sliced, ranks};
  if (m->init) /* which a program without globals has not */
    entry_rebuild(m->init, slice_initial, &s, true, true);
  for (uint32_t i = 0; i < n; i++) {
    Global *g = &m->globals.at[i];
    if (!sliced[i]) continue;
    g->whole = g->type;
    g->type = slice_type(m->ctx, g->type, ranks);
  }
}
