/* Attention in fusion: views of its operands (slices of one product's result, heads, transposes)
   are strides in its kernel, and results are stored transposed, or beside each other, as their
   reader wants them. Contract: values stay. Views that others read as well are built for them. */
#include "passes/fuse/fuse_impl.h"
#include "passes/fuse/strided_view.h"

static bool is_attention(const Op *op) { return op_info[op->kind].cls == CLASS_ATTENTION; }

/* ---- results ---- */

typedef struct Turned { /* results that are read transposed, and as they are */
  const Op **by;        /* by old value: the first transpose */
  ValueId *turned;      /* by old value: that transpose's result in the new entry; NO_ID: not yet */
} Turned;

static void turn_result(Builder *b, const Entry *old, ValueId v, ValueId *map, Turned *t) {
  const Op *turn = t->by[v];
  const Ints *perm = turn->attr[AT_PERM].ints;
  int64_t *back = ARENA_ARRAY(b->m->arena, int64_t, perm->n);
  for (int i = 0; i < perm->n; i++) back[perm->at[i]] = i;
  b->name = value_at(old, turn->results[0])->name;
  t->turned[v] = build_transpose(b, map[v], perm->at);
  b->name = value_at(old, v)->name;
  map[v] = build_transpose(b, t->turned[v], back);
}

static void turn_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Turned *t = data;
  if (op->kind == OP_TRANSPOSE && t->by[op->operands[0]] &&
      op->attr[AT_PERM].ints == t->by[op->operands[0]]->attr[AT_PERM].ints) {
    map[op->results[0]] = t->turned[op->operands[0]];
    return;
  }
  build_copy(b, old, op, map);
  for (int k = 0; is_attention(op) && k < op->nresults; k++)
    if (t->by[op->results[k]]) turn_result(b, old, op->results[k], map, t);
}

void fuse_share_transposes(PassRun *r, Entry *e) {
  const Target *target = r->opt->target;
  if (!target || !target->strided_attention || notes_of(e)->in_order) return;
  Turned t = {ARENA_ARRAY(r->scratch, const Op *, e->values.n + 1),
              ARENA_ARRAY(r->scratch, ValueId, e->values.n + 1)};
  int *users = ARENA_ARRAY(r->scratch, int, e->values.n + 1);
  bool any = false;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    for (int k = 0; k < op->noperands; k++) users[op->operands[k]]++;
    const Op *def = op->kind == OP_TRANSPOSE ? value_def(e, op->operands[0]) : NULL;
    if (!def || !is_attention(def) || def->parent != op->parent || t.by[op->operands[0]]) continue;
    StridedView x;
    if (strided_target(r->scratch, e, op->operands[0], &op, 1, &x) &&
        strided_in_rows(e, op->operands[0], &x))
      t.by[op->operands[0]] = op;
  }
  for (ValueId v = 0; v < e->values.n; v++) {
    if (users[v] < 2) t.by[v] = NULL;
    any |= t.by[v] != NULL;
  }
  if (any) entry_rebuild(e, turn_each, &t, false, true);
}

static const Op *only_reader(const void *data, ValueId v) {
  const Fuse *f = data;
  if (f->users[v].n != 1) return NULL;
  return f->users[v].at[0]->parent == f->block ? f->users[v].at[0] : NULL;
}

/* Every operand of the concatenation is a result of the attention. */
static bool joins_results(const Fuse *f, const Op *concat, const Op *attention) {
  for (int i = 0; i < concat->noperands; i++) {
    const Op *def = value_def(f->e, concat->operands[i]);
    if (def && def->kind == OP_RESHAPE) def = value_def(f->e, def->operands[0]);
    if (!def || def->kind != OP_TRANSPOSE) return false;
    if (value_def(f->e, def->operands[0]) != attention) return false;
  }
  return true;
}

void fuse_find_stores(Fuse *f) {
  for (uint32_t i = 0; fuse_is_strided(f) && i < f->block->ops.n; i++) {
    const Op *op = op_at(f->e, f->block->ops.at[i]);
    const Op *readers[3][3];
    int n[3] = {0};
    bool joined = true;
    if (!is_attention(op)) continue;
    for (int k = 0; k < op->nresults; k++) {
      n[k] = strided_readers(f->a, f->e, op->results[k], only_reader, f, readers[k]);
      if (n[k] > 1) joined &= joins_results(f, readers[k][n[k] - 1], op);
    }
    for (int k = 0; k < op->nresults; k++)
      for (int j = 0; j < (joined ? n[k] : n[k] > 0); j++) {
        f->stores[readers[k][j]->id] = op;
        f->inlined[readers[k][j]->id] = false;
      }
  }
}

/* ---- operands ---- */

static bool is_view(const Op *op) {
  return op_info[op->kind].cls == CLASS_VIEW && op->noperands == 1;
}

/* Slices of v that operands of the attention are views of have all of its elements. */
static bool is_all_read(const Fuse *f, const Op *attention, ValueId v) {
  const Op *seen[8];
  int n = 0;
  int64_t elements = 0;
  for (int k = 0; k < attention->noperands && n < 8; k++) {
    const Op *op = value_def(f->e, attention->operands[k]);
    while (op && is_view(op) && op->operands[0] != v) op = value_def(f->e, op->operands[0]);
    if (!op || op->kind != OP_SLICE || op->operands[0] != v) continue;
    bool twice = false;
    for (int i = 0; i < n; i++) twice |= seen[i] == op;
    if (twice) continue;
    seen[n++] = op;
    elements += value_type(f->e, op->results[0])->numel;
  }
  return elements >= value_type(f->e, v)->numel;
}

/* Attention reads views of it that many anchor ops behind. */
static bool is_read_far(const Fuse *f, ValueId v, uint32_t from) {
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (is_attention(user) ? f->anchors[user->id] >= from + FAR_ANCHORS
                           : is_view(user) && is_read_far(f, user->results[0], from))
      return true;
  }
  return false;
}

typedef struct Views {
  const Fuse *f;
  const Op *attention;
} Views;

/* A part of a value is not read far behind in its place: the whole would be held as long. */
static bool is_free_view(const void *data, const Op *op) {
  const Fuse *f = ((const Views *)data)->f;
  const Op *attention = ((const Views *)data)->attention;
  if (op->parent != attention->parent || f->unit[op->id]) return false;
  if (op->kind != OP_SLICE || is_all_read(f, attention, op->operands[0])) return true;
  const Op *def = value_def(f->e, op->operands[0]);
  return !is_read_far(f, op->operands[0], def ? f->anchors[def->id] : 0);
}

ValueId fuse_strided(const Fuse *f, const Op *attention, ValueId v) {
  const Views views = {f, attention};
  StridedView x = strided_source(f->a, f->e, is_free_view, &views, v);
  const Type *t = value_type(f->e, v);
  return dtype_is_float(t->dtype) && t->rank > 1 && strided_in_rows(f->e, v, &x) ? x.of : v;
}

static bool goes_through(const Fuse *f, ValueId v, ValueId of, ValueId through) {
  for (; v != of; v = value_def(f->e, v)->operands[0])
    if (v == through) return true;
  return false;
}

/* Every reader of v is a kernel of attention that makes the view `made` for itself. */
static bool only_strided(const Fuse *f, ValueId v, ValueId made) {
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (user->parent != f->block) return false;
    if (is_attention(user) && f->unit[user->id]) {
      if (!goes_through(f, v, fuse_strided(f, user, v), made)) return false;
    } else if (!is_view(user) || f->unit[user->id] || !only_strided(f, user->results[0], made)) {
      return false;
    }
  }
  return f->users[v].n > 0;
}

void fuse_release_views(Fuse *f) {
  for (uint32_t i = 0; fuse_is_strided(f) && i < f->block->ops.n; i++) {
    const Op *op = op_at(f->e, f->block->ops.at[i]);
    if (op->kind == OP_RESHAPE && !f->unit[op->id] &&
        only_strided(f, op->results[0], op->results[0]))
      f->inlined[op->id] = true;
  }
}
