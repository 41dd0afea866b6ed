/* Tiles of images: an image between convolutions and pools may be wider than its sources and its
   results. It is computed a few images or a few channels at a time, so that it is never whole:
     max_pool(relu(conv(x, w)))           by images: pooled block after pooled block
     conv_input_grad(max_pool_grad(d), w) by images, too
     conv_filter_grad(max_pool_grad(d), x), sums of channels: by channels, each of which is a sum of
                                          its own; element-wise ops and pools are recomputed
   Contract: runs before fusion and layouts. Does nothing without a limit. The rest of the pipeline
   is tried with the tiles and without; they are kept if less arithmetic is recomputed, or if only
   they meet the limit. Results are the same to the last bit, since every element stays the same
   sum; nothing is convolved twice. With all=1 every such image is tiled. */
#include "passes/shrink/image_tiles_impl.h"

enum { SMALL = 3 }; /* where nothing has 1 / SMALL of the limit, only a missed limit is a reason */

/* Nothing to make twice. */
static bool is_conv(const Op *op) { return op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD; }

static bool is_pool(const Op *op) {
  return op_info[op->kind].cls == CLASS_WINDOW && !is_conv(op) && op->kind != OP_CONV_FILTER_GRAD;
}

bool blocks_is_apart(const Op *op) {
  const OpInfo *info = &op_info[op->kind];
  bool element = info->cls == CLASS_ELEMENT && !(info->flags & OPF_POSITION);
  return (element || is_pool(op)) && op->nresults == 1;
}

/* Each channel of the operand comes to something of its own. */
static bool keeps_channels(const Op *op) {
  const Ints *axes = op->attr[AT_AXES].ints;
  if (op_accumulator(op) >= 0) return false;
  if (op->kind == OP_CONV_FILTER_GRAD) return op->attr[AT_GROUPS].i == 1;
  if (op->kind != OP_SUM && op->kind != OP_REDUCE_MAX && op->kind != OP_REDUCE_MIN) return false;
  bool has = false;
  for (int i = 0; axes && i < axes->n; i++) has |= axes->at[i] == BLOCK_CHANNELS;
  return axes && axes->n && !has;
}

int blocks_axis(const Op *op, int operand) {
  if (is_conv(op)) return operand == 0 ? BLOCK_IMAGES : -1;
  if (blocks_is_apart(op)) return BLOCK_IMAGES;
  return operand == 0 && keeps_channels(op) ? BLOCK_CHANNELS : -1;
}

/* Sizes differ by one at most, so that none is much smaller. Those of a bounded axis are equal at
   its bound and have two of its elements or more, so that a block is a part of it. */
int64_t blocks_count(const Type *t, int axis) {
  enum { MAX = 8, PANEL = 16 }; /* blocks; channels that a target computes side by side */
  const Extent *x = type_extent(t, axis);
  int64_t n = x ? x->bound : t->dim[axis], max = axis == BLOCK_CHANNELS ? n / PANEL : n;
  if (max > MAX) max = MAX;
  while (x && max > 1 && (n % max || n / max < 2)) max--;
  return max;
}

/* ---- what is never whole ---- */

static bool may_be_gone(const Blocks *b, const Op *op) {
  if (op->parent != b->e->body || (!blocks_is_apart(op) && !is_conv(op))) return false;
  const Type *t = value_type(b->e, op->results[0]);
  return t->rank == 4 && t->bytes >= b->min;
}

/* Of what size an operand counts as a source: what a block can be made of at once is none. */
static uint64_t source_bytes(const Blocks *b, ValueId v) {
  const Op *def = value_def(b->e, v);
  bool is_free = def && (def->kind == OP_CONST || def->kind == OP_BROADCAST);
  return is_free ? 0 : value_type(b->e, v)->bytes;
}

/* What has fewer pixels than its operand: whole, it lets the operand be cut by images. */
static bool shrinks(const Blocks *b, const Op *op) {
  return is_pool(op) &&
         value_type(b->e, op->results[0])->numel < value_type(b->e, op->operands[0])->numel;
}

static bool drop(Blocks *b, ValueId v) {
  bool was = b->gone[v];
  b->gone[v] = false;
  return was;
}

/* Who asks, by what axis, and which reader is the first that is no block itself. */
static bool ask(Blocks *b) {
  const Block *body = b->e->body;
  bool changed = false;
  memset(b->asked, 0, b->e->values.n * sizeof *b->asked);
  for (ValueId v = 0; v < b->e->values.n; v++) b->first[v] = UINT32_MAX;
  for (uint32_t i = body->ops.n; i-- > 0;) {
    const Op *op = op_at(b->e, body->ops.at[i]);
    bool inner = op->nresults == 1 && b->gone[op->results[0]];
    if (inner) {
      ValueId y = op->results[0];
      const Type *t = value_type(b->e, y);
      bool by_images = b->asked[y] & 1 << BLOCK_IMAGES;
      bool by_channels = b->asked[y] & 1 << BLOCK_CHANNELS;
      if (!b->asked[y] || (by_channels && (is_conv(op) || shrinks(b, op))) ||
          (by_images && blocks_count(t, BLOCK_IMAGES) < 2) ||
          (by_channels && blocks_count(t, BLOCK_CHANNELS) < 2))
        changed |= drop(b, y);
      inner = b->gone[y];
    }
    for (int k = 0; k < op->noperands; k++) {
      ValueId x = op->operands[k];
      if (!b->gone[x]) continue;
      int axis = blocks_axis(op, k);
      if (axis < 0) changed |= drop(b, x);
      if (axis < 0) continue;
      b->asked[x] |= (uint8_t)(inner ? b->asked[op->results[0]] : 1 << axis);
      uint32_t first = inner ? b->first[op->results[0]] : i;
      if (first < b->first[x]) b->first[x] = first;
    }
  }
  return changed;
}

/* What is convolved for blocks must be gone at once: whoever reads it needs nothing that comes
   later than the first of its readers. */
static bool waits(const Blocks *b, const Op *op, uint32_t first) {
  for (int k = 0; k < op->noperands; k++) {
    const Op *def = value_def(b->e, op->operands[k]);
    if (def && !b->gone[op->operands[k]] && b->at[def->id] > first) return true;
  }
  return false;
}

/* Leaves what is wider than its sources, and what is element-wise made of that. */
static bool check_sources(Blocks *b) {
  const Block *body = b->e->body;
  bool changed = false;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(b->e, body->ops.at[i]);
    uint64_t sources = 0;
    bool of_gone = false;
    uint32_t first = UINT32_MAX; /* of what is convolved for it */
    for (int k = 0; k < op->noperands; k++) {
      ValueId x = op->operands[k];
      of_gone |= b->gone[x];
      if (b->gone[x] && b->until[x] < first) first = b->until[x];
      if (!b->gone[x]) sources += source_bytes(b, x);
    }
    bool late = first != UINT32_MAX && waits(b, op, first);
    for (int k = 0; late && k < op->noperands; k++)
      if (b->until[op->operands[k]] != UINT32_MAX) changed |= drop(b, op->operands[k]);
    if (op->nresults != 1 || !b->gone[op->results[0]]) continue;
    ValueId y = op->results[0];
    if (!of_gone && sources >= value_type(b->e, y)->bytes) changed |= drop(b, y);
    b->until[y] = is_conv(op) && b->first[y] < first ? b->first[y] : first;
    if (b->until[y] != UINT32_MAX && b->asked[y] & 1 << BLOCK_CHANNELS) changed |= drop(b, y);
  }
  return changed;
}

static Blocks blocks_of(PassRun *r, const Entry *e, uint64_t min) {
  Arena *a = r->scratch;
  uint32_t n = e->values.n;
  Blocks b = {.a = a,
              .e = e,
              .min = min,
              .at = ARENA_ARRAY(a, uint32_t, e->ops.n),
              .gone = ARENA_ARRAY(a, bool, n),
              .asked = ARENA_ARRAY(a, uint8_t, n),
              .first = ARENA_ARRAY(a, uint32_t, n),
              .until = ARENA_ARRAY(a, uint32_t, n)};
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    b.at[op->id] = i;
    if (op->nresults == 1) b.gone[op->results[0]] = may_be_gone(&b, op);
  }
  for (uint32_t i = 0; i < e->ops.n; i++) { /* loops and kernels read what is whole */
    const Op *op = op_at(e, i);
    for (int k = 0; op->parent != e->body && k < op->noperands; k++) drop(&b, op->operands[k]);
  }
  for (bool changed = true; changed;) {
    changed = ask(&b);
    for (ValueId v = 0; v < n; v++) b.until[v] = UINT32_MAX;
    changed |= check_sources(&b);
  }
  return b;
}

/* ---- as a pass ---- */

static bool any_block(PassRun *r, const Entry *e, uint64_t min) {
  Blocks b = blocks_of(r, e, min);
  for (ValueId v = 0; v < e->values.n; v++)
    if (b.gone[v]) return true;
  return false;
}

static void in_blocks(PassRun *r, Entry *e, uint64_t min) {
  Blocks b = blocks_of(r, e, min);
  blocks_build(&b, e);
  r->changes++;
}

/* Reports each value that is gone and that an op which stays reads. */
static void report_tiles(PassRun *r, const Entry *old, uint64_t min) {
  Blocks b = blocks_of(r, old, min);
  char buf[32];
  remarks_of(r, old);
  bool *reported = ARENA_ARRAY(r->scratch, bool, old->values.n);
  for (uint32_t i = 0; i < old->body->ops.n; i++) {
    const Op *op = op_at(old, old->body->ops.at[i]);
    if (op->nresults == 1 && b.gone[op->results[0]]) continue;
    for (int k = 0; k < op->noperands; k++) {
      ValueId v = op->operands[k];
      if (!b.gone[v] || reported[v]) continue;
      const Type *t = value_type(old, v);
      const Op *def = value_def(old, v);
      bool images = b.asked[v] & 1 << BLOCK_IMAGES, channels = b.asked[v] & 1 << BLOCK_CHANNELS;
      reported[v] = true;
      plan_commas(buf, t->bytes);
      remark(r, REMARK_REMAT, "remat", def->loc, "%s of %s (%s) is never whole: it is made %s",
             value_str(old, v), op_info[def->kind].name, buf,
             !channels ? "some images at a time"
             : !images ? "some channels at a time"
                       : "some images at a time, and again some channels at a time");
    }
  }
}

bool pass_image_tiles(PassRun *r) {
  const TrialRewrite w = {
      .any = any_block, .apply = in_blocks, .report = report_tiles, .share = SMALL};
  return trial_rewrite(r, &w, pass_arg_int(r, "all", 0) != 0);
}
