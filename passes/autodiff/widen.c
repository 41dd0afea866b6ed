/* Widen: for a target whose convolutions want f32, those of narrow operands become convolutions of
   f32 numbers that were rounded before. Where the target multiplies halves, they keep them, and
   read rounded filters. Sums in f32 that the program wants in a half precision are rounded once,
   by a conversion behind the convolution.
   Contract: bits stay. Runs after the last cse, so that each reader has its own converted copy,
   which is short-lived: one for all would be held from the forward pass to the backward pass.
   Readers with at most one product or convolution between share one. Runs before fuse, which puts
   conversions into the kernels that make the operands. */
#include "ir/op/window.h"
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

typedef struct Copy { /* of an old value */
  ValueId wide;       /* in the new entry */
  const Block *block; /* that it is in; NULL: none yet */
  int anchor;         /* anchor ops before it */
} Copy;

typedef struct Widen {
  PassRun *r;
  Copy *copy;   /* by old value */
  int *anchors; /* by op: anchor ops before it in its entry */
} Widen;

static bool is_conv(const Op *op) {
  return op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_CONV_FILTER_GRAD;
}

/* Whether the target multiplies the operands as they are, if the sums stay in f32. */
static bool multiplies_as_stored(const Target *t, const Entry *e, const Op *op) {
  Dtype in = value_type(e, op->operands[0])->dtype;
  if (!is_conv(op) || !dtype_is_half(in) || !t || !t->multiplies_halves) return false;
  const ConvGeom g = conv_geom(e, op);
  return t->multiplies_halves(t, in, &g, op->kind);
}

bool conv_multiplies_halves(const Target *t, const Entry *e, const Op *op) {
  return multiplies_as_stored(t, e, op) && value_type(e, op->results[0])->dtype == DT_F32;
}

/* Its sums are rounded to the dtype of its operands. */
static bool rounds_result(const Entry *e, const Op *op) {
  return is_conv(op) && dtype_is_half(value_type(e, op->results[0])->dtype);
}

static bool is_narrow_conv(const Entry *e, const Op *op) {
  return is_conv(op) &&
         (op->attr[AT_WIDE_RESULT].i || op->attr[AT_ROUND_FILTERS].i || rounds_result(e, op));
}

/* As the convolution reads it, in f32. */
static ValueId widened(Builder *b, const Entry *old, const Op *op, int operand, ValueId x) {
  if (operand == 1 && op->attr[AT_ROUND_FILTERS].i) {
    if (op->attr[AT_TF32_OPERANDS].i) return build1(b, OP_TF32, x);
    x = build_convert(b, x, value_type(old, op->operands[0])->dtype);
  }
  return build_convert(b, x, DT_F32);
}

static void widen_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Widen *w = data;
  if (!is_narrow_conv(old, op)) {
    build_copy(b, old, op, map);
    return;
  }
  bool stays = op->parent == old->body && multiplies_as_stored(w->r->opt->target, old, op);
  enum { OPERANDS = 2 }; /* behind them an accumulator, in the result's dtype */
  ValueId in[OPERANDS + 1];
  for (int k = 0; k < op->noperands; k++) {
    ValueId v = op->operands[k];
    in[k] = map[v];
    if (k == OPERANDS) {
      if (rounds_result(old, op)) in[k] = build_convert(b, in[k], DT_F32);
      break;
    }
    if (stays && !(k == 1 && op->attr[AT_ROUND_FILTERS].i)) continue;
    if (stays) {
      in[k] = build_convert(b, map[v], value_type(old, op->operands[0])->dtype);
      continue;
    }
    Copy *c = &w->copy[v];
    if (c->block != b->b || w->anchors[op->id] - c->anchor >= FAR_ANCHORS)
      *c = (Copy){widened(b, old, op, k, map[v]), b->b, w->anchors[op->id]};
    in[k] = c->wide;
  }
  Attr attr[MAX_ATTRS];
  memcpy(attr, op->attr, sizeof attr);
  attr[AT_WIDE_RESULT].i = stays;
  attr[AT_TF32_OPERANDS].i |= !stays; /* which halves are, too */
  attr[AT_ROUND_FILTERS].i = 0;
  const Type *t = value_type(old, op->results[0]);
  b->name = rounds_result(old, op) ? NULL : value_at(old, op->results[0])->name;
  ValueId y = build(b, op->kind, in, op->noperands, attr, type_with_dtype(b->m->ctx, t, DT_F32));
  b->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = rounds_result(old, op) ? build_convert(b, y, t->dtype) : y;
  w->r->changes++;
}

bool pass_widen(PassRun *r) {
  Entry *e;
  if (!r->opt->target || r->opt->target->narrow_convs) return true;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Widen w = {.r = r,
               .copy = ARENA_ARRAY(r->scratch, Copy, e->values.n + 1),
               .anchors = ARENA_ARRAY(r->scratch, int, e->ops.n + 1)};
    int anchors = 0;
    bool any = false;
    for (uint32_t i = 0; i < e->ops.n; i++) {
      const Op *op = op_at(e, i);
      w.anchors[i] = anchors;
      anchors += op_is_anchor(op);
      any |= is_narrow_conv(e, op);
    }
    if (any) entry_rebuild(e, widen_each, &w, false, true);
  }
  return true;
}
