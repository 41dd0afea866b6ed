/* Concatenations split: a concatenated tensor, and a gradient that is sliced again, need not be
   whole. Three identities hold the same numbers with fewer bytes at a time:
     concat(a, b) = b written into a tensor that begins with a, in place: a is dead before b's
   writing slice(conv_input_grad(dy, w))       = conv_input_grad(dy, slice(w)), along the channels
     conv_filter_grad(dy, concat(a, b))  = concat(conv_filter_grad(dy, a), conv_filter_grad(dy, b))
   Contract: runs before fusion and layouts. Does nothing without a limit. The rest of the pipeline
   is tried with the split and without; it is kept if less arithmetic is recomputed, or if only it
   meets the limit. Results are the same to the last bit, since every element stays the same sum.
   With all=1 every concatenation is split. */
#include "ir/op/window.h"
#include "passes/manager/pass_list.h"

enum { SMALL = 8 }; /* where nothing has 1 / SMALL of the limit, only a missed limit is a reason */

enum { CHANNELS = 1 }; /* the axis of images [N, C, H, W] and of filters [O, C, KH, KW] */

typedef struct SplitUses {
  uint64_t min;      /* bytes of a tensor that is worth it */
  uint32_t *readers; /* by value */
  uint32_t *slices;  /* by value: readers that are slices along the channels alone, computed as all
                        channels are */
} SplitUses;

static const Type *type_of(const Entry *e, ValueId v) { return value_type(e, v); }

/* ---- what can be done in parts ---- */

/* Of the channels of images, and of nothing else. */
static bool slices_channels(const Entry *e, const Op *op) {
  if (op->kind != OP_SLICE) return false; /* others may have no operand */
  const Type *x = type_of(e, op->operands[0]), *y = type_of(e, op->results[0]);
  if (x->rank != 4 || type_extent(x, CHANNELS)) return false;
  for (int i = 0; i < x->rank; i++)
    if (op->attr[AT_STEPS].ints->at[i] != 1 ||
        (i != CHANNELS && type_axis(y, i) != type_axis(x, i)))
      return false;
  return true;
}

static const Op *def_in_body(const Entry *e, ValueId v) {
  const Op *op = value_def(e, v);
  return op && op->parent == e->body ? op : NULL;
}

/* The gradient that the slice takes channels of, where no op reads it whole. */
static const Op *sliced_gradient(const SplitUses *p, const Entry *e, const Op *op) {
  if (!slices_channels(e, op)) return NULL;
  const Op *back = def_in_body(e, op->operands[0]);
  if (!back || back->kind != OP_CONV_INPUT_GRAD || back->attr[AT_GROUPS].i != 1) return NULL;
  ValueId v = back->results[0];
  return p->slices[v] == p->readers[v] && type_of(e, v)->bytes >= p->min ? back : NULL;
}

static const Op *concat_of(const SplitUses *p, const Entry *e, ValueId v) {
  const Op *op = def_in_body(e, v);
  const Type *t = type_of(e, v);
  bool ok = op && op->kind == OP_CONCAT && op->noperands > 1 && t->rank == 4 &&
            t->bytes >= p->min && op->attr[AT_AXIS].i == CHANNELS;
  return ok ? op : NULL;
}

/* The images under a filter's gradient. */
static const Op *concat_under(const SplitUses *p, const Entry *e, const Op *op) {
  if (op->kind != OP_CONV_FILTER_GRAD || op->attr[AT_GROUPS].i != 1 || op_accumulator(op) >= 0)
    return NULL;
  return concat_of(p, e, op->operands[1]);
}

static bool can_do(const SplitUses *p, const Entry *e, const Op *op) {
  if (op->parent != e->body) return false;
  return sliced_gradient(p, e, op) || concat_under(p, e, op) ||
         (op->kind == OP_CONCAT && concat_of(p, e, op->results[0]));
}

/* A target computes the slice's channels as it does all of them: it may choose by their number, and
   in each run anew. */
static bool same_method(const Target *t, const Entry *e, const Op *slice) {
  const Op *back = def_in_body(e, slice->operands[0]);
  if (!t || !t->winograd_panel || !back || back->kind != OP_CONV_INPUT_GRAD) return true;
  ConvGeom all = conv_geom(e, back), some = all;
  some.cin = some.gin = type_of(e, slice->results[0])->dim[CHANNELS];
  const bool transforms = t->winograd_panel(t, &all, true),
             part = t->winograd_panel(t, &some, true);
  const bool bounded = type_extent(all.x, 2) || type_extent(all.x, 3);
  return transforms == part && !(transforms && bounded);
}

static SplitUses parts_of(PassRun *r, const Entry *e, uint64_t min) {
  SplitUses p = {.min = min,
                 .readers = ARENA_ARRAY(r->scratch, uint32_t, e->values.n),
                 .slices = ARENA_ARRAY(r->scratch, uint32_t, e->values.n)};
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    for (int k = 0; k < op->noperands; k++) p.readers[op->operands[k]]++;
    if (op->parent == e->body && slices_channels(e, op) && same_method(r->opt->target, e, op))
      p.slices[op->operands[0]]++;
  }
  return p;
}

static bool any_part(PassRun *r, const Entry *e, uint64_t min) {
  SplitUses p = parts_of(r, e, min);
  for (uint32_t i = 0; i < e->body->ops.n; i++)
    if (can_do(&p, e, op_at(e, e->body->ops.at[i]))) return true;
  return false;
}

/* ---- doing it ---- */

/* The gradient of the slice's channels alone, by a slice of the filters. */
static ValueId gradient_of_slice(Builder *b, const Entry *old, const Op *op, const Op *back,
                                 const ValueId *map) {
  const Type *y = type_of(old, op->results[0]);
  ValueId w = build_slice(b, map[back->operands[1]], CHANNELS,
                          op->attr[AT_STARTS].ints->at[CHANNELS], y->dim[CHANNELS]);
  return build(b, OP_CONV_INPUT_GRAD, (ValueId[]){map[back->operands[0]], w}, 2, back->attr, y);
}

/* The gradient of every part's filters, side by side. */
static ValueId gradient_by_parts(Builder *b, const Entry *old, const Op *op, const Op *concat,
                                 const ValueId *map) {
  const Type *t = type_of(old, op->results[0]);
  ValueId *part = ARENA_ARRAY(b->m->arena, ValueId, concat->noperands);
  for (int i = 0; i < concat->noperands; i++) {
    int64_t channels = type_of(old, concat->operands[i])->dim[CHANNELS];
    ValueId x[] = {map[op->operands[0]], map[concat->operands[i]]};
    part[i] = build(b, OP_CONV_FILTER_GRAD, x, 2, op->attr,
                    type_with_extent(b->m->ctx, t, CHANNELS, channels));
  }
  return build(b, OP_CONCAT, part, concat->noperands, concat->attr, NULL);
}

/* Written into the result one part after the other. */
static ValueId part_after_part(Builder *b, const Entry *old, const Op *op, const ValueId *map) {
  int64_t at = 0, extent = type_of(old, op->results[0])->dim[CHANNELS];
  ValueId whole = NO_ID;
  for (int i = 0; i < op->noperands; i++) {
    whole = build_part(b, whole, map[op->operands[i]], CHANNELS, at, extent);
    at += type_of(old, op->operands[i])->dim[CHANNELS];
  }
  return whole;
}

static void parts_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const SplitUses *p = data;
  const Op *of;
  ValueId v;
  if (op->parent != old->body)
    v = NO_ID;
  else if ((of = sliced_gradient(p, old, op)))
    v = gradient_of_slice(b, old, op, of, map);
  else if ((of = concat_under(p, old, op)))
    v = gradient_by_parts(b, old, op, of, map);
  else if (op->kind == OP_CONCAT && concat_of(p, old, op->results[0]))
    v = part_after_part(b, old, op, map);
  else
    v = NO_ID;
  if (v == NO_ID) {
    build_copy(b, old, op, map);
    return;
  }
  value_at(b->e, v)->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = v;
}

static void in_parts(PassRun *r, Entry *e, uint64_t min) {
  SplitUses p = parts_of(r, e, min);
  entry_rebuild(e, parts_each, &p, false, true);
  r->changes++;
}

/* ---- as a pass ---- */

static void report_splits(PassRun *r, const Entry *old, uint64_t min) {
  SplitUses p = parts_of(r, old, min);
  remarks_of(r, old);
  for (uint32_t i = 0; i < old->body->ops.n; i++) {
    const Op *op = op_at(old, old->body->ops.at[i]);
    if (!can_do(&p, old, op)) continue;
    const char *how = op->kind == OP_CONCAT  ? "written part after part"
                      : op->kind == OP_SLICE ? "made without the gradient that it is part of"
                                             : "made for the parts of what is concatenated";
    remark(r, REMARK_REMAT, "remat", op->loc, "%s of %s is %s", value_str(old, op->results[0]),
           op_info[op->kind].name, how);
  }
}

bool pass_concat_split(PassRun *r) {
  const TrialRewrite w = {
      .any = any_part, .apply = in_parts, .report = report_splits, .share = SMALL};
  return trial_rewrite(r, &w, pass_arg_int(r, "all", 0) != 0);
}
