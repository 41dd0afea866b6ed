/* Autodiff: expands every `grad` op into the explicit backward pass, ordinary ops at its place.
   Contract: needs no kernels; a grad in the body of a loop is by values of that body; leaves no
   grad, no stop_gradient and no composite; other forward ops are copied as they are; linear in the
   ops between the values asked for and the loss. Algorithm: reverse mode. Forward from the values
   asked for, every value that depends on them through gradient rules is marked; backward from the
   loss, each op whose result has a gradient runs its rule, which builds what marked operands need
   and nothing else. Entries are walked in order, so an inner grad is ordinary ops before an outer
   one differentiates it.

   Several contributions to one value are added as they arrive: readers in reverse order of the
   program, operands of one reader as its rule gives them, ((last + before it) + … + first). So at
   most one partial sum of a value is alive, and the order is a function of the program alone.
   Gradients of slices that do not overlap are put side by side (slices.c). */
#include "ir/support/search.h"
#include "passes/autodiff/autodiff_impl.h"
#include "passes/autodiff/precision.h"

static bool diff_needs(const GradCtx *g, const Op *op, int operand) {
  return diff_active(g->state, op->operands[operand]);
}

static ValueId diff_of(const GradCtx *g, const Op *op, int result) {
  const Diff *d = g->state;
  ValueId v = op->results[result];
  return diff_active(d, v) ? d->sum[v - d->lo] : NO_ID;
}

/* "logits" of a value that the user named; a load is known by its global's path. */
static const char *known_name(const Entry *e, ValueId v) {
  if (value_at(e, v)->name) return value_at(e, v)->name;
  const Op *def = value_def(e, v);
  if (!def || def->kind != OP_LOAD) return NULL;
  return e->module->globals.at[def->attr[AT_GLOBAL].i].path;
}

static void place_at(Builder *b, const Op *op) {
  b->loc = op->loc;
  b->scope = op->scope;
}

void diff_add(GradCtx *g, ValueId v, ValueId dv) {
  Diff *d = g->state;
  if (!diff_active(d, v)) return;
  ValueId *sum = &d->sum[v - d->lo];
  if (*sum == NO_ID) {
    *sum = dv;
    return;
  }
  /* The aggregation belongs to the value that was split, not to the reader. */
  const Op *def = value_def(g->e, v);
  Loc loc = g->b->loc;
  const char *scope = g->b->scope;
  if (def) place_at(g->b, def);
  ValueId both = diff_beside(g->b, *sum, dv);
  *sum = both != NO_ID ? both : build2(g->b, OP_ADD, *sum, dv);
  g->b->loc = loc;
  g->b->scope = scope;
}

/* What only fills a value up to its bounds, for an op that computes columns there: NULL if v is not
   that. */
static const Op *filling(const Entry *e, ValueId v) {
  const Op *def = value_def(e, v);
  if (!def || def->kind != OP_PAD || !value_type(e, def->operands[0])->extent) return NULL;
  const int axes = value_type(e, v)->rank;
  for (int i = 0; i < axes; i++)
    if (def->attr[AT_LO].ints->at[i] || def->attr[AT_HI].ints->at[i] ||
        def->attr[AT_INTERIOR].ints->at[i])
      return NULL;
  return def;
}

/* Past a filling, so that the order is that of the program compiled for the extents. */
static void diff_to(GradCtx *g, const Op *op, int operand, ValueId dv) {
  const Op *def = filling(g->e, op->operands[operand]);
  if (def && diff_needs(g, def, 0))
    op_info[OP_PAD].grad(g, def, dv);
  else
    diff_add(g, op->operands[operand], dv);
}

static void diff_region(GradCtx *g, const Op *op) { diff_back_scan(g, op); }

/* Names a value of this expansion; constants are shared and stay without. */
static bool may_name(const Diff *d, const Entry *e, ValueId v) {
  const Op *def = value_def(e, v);
  return v >= d->hi && def && def->kind != OP_CONST;
}

static void name_gradient(Diff *d, Entry *e, ValueId dv, const char *of) {
  Value *v = value_at(e, dv);
  if (of && !v->name && may_name(d, e, dv)) v->name = intern_printf(e->module->ctx, "d.%s", of);
}

/* First op of the block that is not older than the id: ids grow along a block that is only appended
   to. */
static uint32_t block_from(const Block *blk, OpId id) {
  uint32_t i;
  SEARCH_FIRST(i, blk->ops.n, blk->ops.at[i] >= id);
  return i;
}

bool diff_mark(Diff *d, const Entry *e, const Block *blk, uint32_t from, uint32_t to) {
  bool fresh = false;
  for (uint32_t i = from; i < to; i++) {
    const Op *op = op_at(e, blk->ops.at[i]);
    if (op->kind == OP_SCAN) {
      fresh |= diff_mark_scan(d, e, op);
      continue;
    }
    bool any = false;
    for (int k = 0; k < op->noperands && !any; k++) any = diff_active(d, op->operands[k]);
    if (!any) continue;
    if (op->nblocks)
      gc_bug(e->module->ctx, "%s at %s is on the way of a gradient: autodiff comes before fuse",
             op_info[op->kind].name, loc_str(e->module->ctx, op->loc));
    if (!op_info[op->kind].grad) continue;
    for (int k = 0; k < op->nresults; k++) {
      ValueId v = op->results[k];
      if (v >= d->hi || !dtype_is_float(value_type(e, v)->dtype) || d->active[v - d->lo]) continue;
      fresh = d->active[v - d->lo] = true;
    }
  }
  return fresh;
}

/* Both arrays for so many values: nothing is active, nothing has a gradient. */
static void clear(Diff *d, uint32_t n) {
  if (n > d->capacity) {
    d->capacity = n > 2 * d->capacity ? n : 2 * d->capacity;
    d->active = ARENA_ARRAY(d->r->scratch, bool, d->capacity);
    d->sum = ARENA_ARRAY(d->r->scratch, ValueId, d->capacity);
  }
  if (!n) return;
  memset(d->active, 0, sizeof d->active[0] * n);
  memset(d->sum, 0xff, sizeof d->sum[0] * n); /* NO_ID */
}

void diff_back(GradCtx *g, const Block *blk, uint32_t from, uint32_t to) {
  Diff *d = g->state;
  Entry *e = g->b->e;
  for (uint32_t i = to; i-- > from;) {
    const Op *op = op_at(e, blk->ops.at[i]);
    if (!op_info[op->kind].grad) continue;
    bool reached = false, any = op->kind == OP_SCAN;
    for (int k = 0; k < op->nresults; k++) {
      ValueId dy = diff_of(g, op, k);
      if (dy == NO_ID) continue; /* the loss does not depend on it */
      reached = true;
      name_gradient(d, e, dy, known_name(e, op->results[k]));
    }
    for (int k = 0; k < op->noperands && !any; k++) any = diff_active(d, op->operands[k]);
    if (!reached || !any) continue; /* or an x itself */
    place_at(g->b, op);
    op_info[op->kind].grad(g, op, diff_of(g, op, 0));
  }
}

/* Sets dx[k] for every x[k] that is not NO_ID. */
static void expand(Diff *d, Builder *b, ValueId loss, const ValueId *x, ValueId *dx, int n) {
  Entry *e = b->e;
  Ctx *c = e->module->ctx;
  const Block *blk = b->b;
  d->hi = e->values.n;
  d->lo = d->hi;
  OpId first = NO_ID; /* the oldest op that can depend on an x */
  for (int k = 0; k < n; k++) {
    if (x[k] == NO_ID) continue;
    if (!dtype_is_float(value_type(e, x[k])->dtype))
      gc_bug(c, "grad by a value of type %s", type_str(c, value_type(e, x[k])));
    if (x[k] < d->lo) d->lo = x[k];
    OpId def = value_at(e, x[k])->def;
    if (def == NO_ID)
      first = 0;
    else if (def < first)
      first = def;
  }
  clear(d, d->hi - d->lo);
  for (int k = 0; k < n; k++)
    if (x[k] != NO_ID) d->active[x[k] - d->lo] = true;

  uint32_t from = block_from(blk, first), to = blk->ops.n;
  const Op *last = value_def(e, loss);
  if (last && last->parent == blk) to = block_from(blk, last->id) + 1;
  (void)diff_mark(d, e, blk, from, to);
  Loc loc = b->loc;
  const char *scope = b->scope;
  b->backward = true;
  b->fold = true; /* gradients are small from the start; forward ops stay as they are */
  if (diff_active(d, loss)) {
    if (last) place_at(b, last);
    d->sum[loss - d->lo] = build_const(b, value_type(e, loss), 1);
  }
  GradCtx g = {.b = b,
               .e = e,
               .state = d,
               .needs = diff_needs,
               .of = diff_of,
               .to = diff_to,
               .region = diff_region};
  diff_back(&g, blk, from, to);
  b->loc = loc;
  b->scope = scope;
  for (int k = 0; k < n; k++) {
    if (x[k] == NO_ID) continue;
    dx[k] = d->sum[x[k] - d->lo];
    if (dx[k] == NO_ID)
      dx[k] = build_const(b, value_type(e, x[k]), 0);
    else
      name_gradient(d, e, dx[k], known_name(e, x[k]));
  }
  b->fold = false;
  b->backward = false;
}

static ValueId copy_target(Diff *d, Builder *b, const Entry *old, ValueId was, ValueId now) {
  ValueId v = mark_grad_target(b, old, was, now);
  vec_push(d->r->scratch, &d->extra, value_at(b->e, v)->def);
  return v;
}

static void expand_grad(Diff *d, Builder *b, const Entry *old, const Op *op, ValueId *map) {
  Ctx *c = b->m->ctx;
  if (op->noperands < 1 || op->nresults != op->noperands - 1)
    gc_bug(c, "grad with %d operands and %d results", op->noperands, op->nresults);
  ValueId loss = map[op->operands[0]];
  const Type *lt = value_type(b->e, loss);
  if (lt->numel != 1 || !dtype_is_float(lt->dtype))
    gc_bug(c, "grad of a loss of type %s", type_str(c, lt));
  int n = op->nresults;
  ValueId *x = ARENA_ARRAY(d->r->scratch, ValueId, n), *dx = ARENA_ARRAY(d->r->scratch, ValueId, n);
  for (int k = 0; k < n; k++) x[k] = d->read[op->results[k]] ? map[op->operands[k + 1]] : NO_ID;
  b->loc = op->loc;
  b->scope = op->scope;
  expand(d, b, loss, x, dx, n);
  for (int k = 0; k < n; k++) {
    if (x[k] == NO_ID) continue;
    ValueId r = op->results[k], v = dx[k];
    d->r->changes++;
    if (d->is_target && d->is_target[r]) {
      map[r] = copy_target(d, b, old, r, v); /* a later grad asks for this very gradient */
      continue;
    }
    const char *name = value_at(old, r)->name;
    if (name && may_name(d, b->e, v)) value_at(b->e, v)->name = name;
    map[r] = v;
  }
}

static void expand_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Diff *d = data;
  if (op->kind == OP_GRAD) {
    expand_grad(d, b, old, op, map);
    return;
  }
  build_copy(b, old, op, map);
  bool is_target = op->kind == OP_COPY && d->is_target && d->is_target[op->results[0]];
  if (op->kind == OP_STOP_GRADIENT || (op->kind == OP_COPY && !is_target))
    vec_push(d->r->scratch, &d->extra, value_at(b->e, map[op->results[0]])->def);
  for (int k = 0; k < op->nresults; k++) {
    ValueId was = op->results[k];
    if (d->is_target && d->is_target[was]) map[was] = copy_target(d, b, old, was, map[was]);
  }
}

typedef struct Clean {
  bool *extra;  /* by op */
  Saved *saved; /* NULL: the backward pass reads what the forward pass made */
} Clean;

/* Takes out the extra ops, which are identities. */
static void clean_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const Clean *c = data;
  if (!c->extra[op->id]) {
    if (c->saved)
      saved_copy(c->saved, b, old, op, map);
    else
      build_copy(b, old, op, map);
    return;
  }
  ValueId v = map[op->operands[0]];
  Value *value = value_at(b->e, v);
  if (!value->name) value->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = v;
}

/* Composites served for their gradients alone, and not every target has each contraction: what
   expands the op into its parts, or NULL. */
static ExpandFn *expansion(const PassRun *r, const Entry *e, const Op *op) {
  const Target *t = r->opt->target;
  if ((op->kind == OP_TO_LOCAL || op->kind == OP_FROM_LOCAL) && notes_of(e)->distributed)
    return NULL;
  if ((op->kind == OP_QUANTIZE_SCALE || op->kind == OP_QUANTIZE) && t && t->quantizes &&
      t->quantizes(t, e, op))
    return NULL;
  if (op_info[op->kind].cls == CLASS_WINDOW) return windows_expansion(t, e, op);
  if (op->kind == OP_MATMUL &&
      ((t && t->rounds_operand) || !(op->attr[AT_ROUND_A].i || op->attr[AT_ROUND_B].i)))
    return NULL;
  bool kept = (op->kind == OP_QUANTIZED_MATMUL || op->kind == OP_SCALED_MATMUL) && t &&
              t->multiplies_quantized && t->multiplies_quantized(t, e, op);
  return kept ? NULL : op_info[op->kind].expand;
}

/* A product of integers for which the target has no kernel multiplies the floats of the left ones
   by the matrix as it is stored, if it has one for that. */
static ValueId scaled_parts(const PassRun *r, Builder *b, const Op *op, const Type *to,
                            const ValueId *x) {
  const Target *t = r->opt->target;
  if (t && t->multiplies_quantized) {
    const ValueId y = build_with_left_dequantized(b, op, to, x);
    if (t->multiplies_quantized(t, b->e, value_def(b->e, y))) return build_convert(b, y, to->dtype);
  }
  return op_info[OP_SCALED_MATMUL].expand(b, op, to, x);
}

static void plain_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  PassRun *r = data;
  ExpandFn *made = expansion(r, old, op);
  if (!made) {
    build_copy(b, old, op, map);
    return;
  }
  ValueId *x = ARENA_ARRAY(r->scratch, ValueId, op->noperands);
  for (int i = 0; i < op->noperands; i++) x[i] = map[op->operands[i]];
  place_at(b, op);
  const Type *to = value_type(old, op->results[0]);
  ValueId y = op->kind == OP_SCALED_MATMUL ? scaled_parts(r, b, op, to, x) : made(b, op, to, x);
  Value *value = value_at(b->e, y);
  if (!value->name) value->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = y;
  r->changes++;
}

static bool has_composites(const PassRun *r, const Entry *e) {
  bool any = false;
  for (uint32_t i = 0; i < e->ops.n && !any; i++) any = expansion(r, e, op_at(e, i)) != NULL;
  return any;
}

static bool *find_read(Arena *a, const Entry *e) {
  bool *read = ARENA_ARRAY(a, bool, e->values.n);
  for (uint32_t i = 0; i < e->ops.n; i++)
    for (int k = 0; k < op_at(e, i)->noperands; k++) read[op_at(e, i)->operands[k]] = true;
  return read;
}

static void clean(Diff *d, Entry *e, Precision saved) {
  Arena *a = d->r->scratch;
  Clean c = {.extra = ARENA_ARRAY(a, bool, e->ops.n)};
  for (uint32_t i = 0; i < d->extra.n; i++) c.extra[d->extra.at[i]] = true;
  if (saved != PRECISION_F32) c.saved = saved_new(a, e, saved, d->r->opt->target);
  entry_rebuild(e, clean_each, &c, false, false);
  d->r->changes += d->extra.n + (c.saved ? saved_count(c.saved) : 0);
}

static bool transposes_ones(const Entry *e) {
  bool any = false;
  for (OpId i = 0; i < e->ops.n && !any; i++) {
    const Op *op = op_at(e, i);
    const Type *t = op->kind == OP_TRANSPOSE ? value_type(e, op->operands[0]) : NULL;
    for (int k = 0; t && k < t->rank; k++) any |= t->dim[k] == 1;
  }
  return any;
}

/* Of axes of one element, which nothing folds before gradients are there, nor behind it at -O0. */
static void fold_transposes(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  b->fold = op->kind == OP_TRANSPOSE;
  build_copy(b, old, op, map);
  b->fold = false;
}

bool pass_autodiff(PassRun *r) {
  Entry *e;
  Precision saved;
  if (!precision_arg(r, "saved", &saved)) return false;
  int errors = ctx_errors(r->m->ctx);
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    windows_note_least(e);
    Diff d = {.r = r, .is_target = grad_targets(r->scratch, e)};
    bool any = d.is_target != NULL;
    for (uint32_t i = 0; i < e->ops.n && !any; i++) {
      OpKind kind = op_at(e, i)->kind;
      any = kind == OP_GRAD || kind == OP_STOP_GRADIENT || kind == OP_COPY;
    }
    if (any) {
      d.read = find_read(r->scratch, e);
      entry_rebuild(e, expand_each, &d, false, false);
    }
    if (d.extra.n || (any && saved != PRECISION_F32)) clean(&d, e, saved);
    if (has_composites(r, e)) entry_rebuild(e, plain_each, r, false, false);
    e->differentiated = true;
    if (transposes_ones(e)) entry_rebuild(e, fold_transposes, NULL, false, false);
  }
  return ctx_errors(r->m->ctx) == errors;
}
