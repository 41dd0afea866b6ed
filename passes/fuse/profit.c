/* Profit of fusion: the producer that an op joins first, and the producers that it should not join.
   Contract: tells the bytes that would be held, and for how long; legality.c says whether forms and
   shapes allow it. */
#include "passes/fuse/fuse_impl.h"

/* Only sums over columns, or also those over everything, read it. */
static bool only_summed(const Fuse *f, const Op *op, bool columns) {
  if (op->nresults != 1 || op_info[op->kind].cls != CLASS_ELEMENT) return false;
  for (uint32_t i = 0; i < f->users[op->results[0]].n; i++) {
    const Op *user = f->users[op->results[0]].at[i];
    if (op_info[user->kind].cls != CLASS_REDUCE || op_accumulator(user) >= 0) return false;
    if (op_outer_axes(f->e, user) > (columns ? -1 : 0)) return false;
  }
  return f->users[op->results[0]].n > 0;
}

static bool others_read(const Fuse *f, ValueId v, const Op *op) {
  for (uint32_t i = 0; i < f->users[v].n; i++)
    if (f->users[v].at[i] != op) return true;
  return false;
}

/* Reductions compute it as a prologue, without bytes of its own, unless it is fused with an op that
   they cannot join: a product or window, sums over columns that others read as well, or, for
   reductions over columns, a value with other readers. */
static bool goes_with_sum(const Fuse *f, const FusionGroup *producer, ValueId v, const Op *op) {
  if (fuse_memory_form(producer->form)) return only_summed(f, op, false);
  if (producer->form == FORM_COLS) return others_read(f, v, op) && only_summed(f, op, false);
  return producer->form == FORM_MAP && others_read(f, v, op) && only_summed(f, op, true);
}

static bool is_view(const Fuse *f, const Op *op) {
  return f->inlined[op->id] || !fuse_computes(op);
}

/* An op that cannot join the product reads its value, perhaps behind views. */
static bool is_stored(const Fuse *f, ValueId v) {
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (is_view(f, user) ? is_stored(f, user->results[0])
                         : op_info[user->kind].cls != CLASS_ELEMENT || only_summed(f, user, false))
      return true;
  }
  return false;
}

/* Row ops compute it as a prologue, and other readers need the product stored anyway. As the
   product's epilogue it would be stored, too. */
static bool goes_with_rows(const Fuse *f, const FusionGroup *producer, ValueId v, const Op *op) {
  if (!fuse_memory_form(producer->form) || op->nresults != 1) return false;
  if (op_info[op->kind].cls != CLASS_ELEMENT || !op_info[op->kind].expr) return false;
  if (op_calls_function(op->kind)) return false;
  for (uint32_t i = 0; i < f->users[op->results[0]].n; i++) {
    const Op *user = f->users[op->results[0]].at[i];
    if (op_info[user->kind].cls != CLASS_ROWS || user->parent != f->block) return false;
  }
  for (const Op *def = value_def(f->e, v); !fuse_computes(def); def = value_def(f->e, v))
    v = def->operands[0];
  return f->users[op->results[0]].n > 0 && is_stored(f, v);
}

/* By another op, perhaps through views that it copies. */
static bool read_behind(const Fuse *f, ValueId v, uint32_t anchors, const Op *but) {
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (user == but || user->parent != f->block) continue;
    if (f->anchors[user->id] >= anchors) return true;
    if (f->inlined[user->id] && read_behind(f, user->results[0], anchors, but)) return true;
  }
  return false;
}

/* If the unit that makes v runs only after so many anchor ops, its operands without readers as late
   as that stay live, and have more bytes than v. */
static bool extends_live_ranges(const Fuse *f, const FusionGroup *a, ValueId v, uint32_t anchors) {
  uint64_t held = 0;
  bool far = false;
  ValueList seen = {0};
  for (uint32_t i = 0; i < a->members.n; i++) {
    const Op *op = a->members.at[i];
    for (int k = 0; k < op->noperands; k++) {
      Source s = fuse_source(f, op->operands[k]);
      bool here = s.def && s.def->parent == f->block && op_info[s.def->kind].cls != CLASS_GLOBAL &&
                  !f->inlined[s.def->id] && f->unit[s.def->id] != a;
      bool counted = false;
      for (uint32_t j = 0; j < seen.n; j++) counted |= seen.at[j] == s.v;
      if (!here || counted) continue;
      vec_push(f->a, &seen, s.v);
      if (read_behind(f, s.v, anchors, op)) continue;
      held += value_type(f->e, s.v)->bytes;
      far |= f->anchors[s.def->id] + FAR_ANCHORS <= anchors;
    }
  }
  return far && held > value_type(f->e, v)->bytes;
}

/* The product or window that gives just this value, or NULL. */
static const FusionGroup *product_of(const Fuse *f, const Source *s) {
  const FusionGroup *u = s->def && s->def->parent == f->block ? f->unit[s->def->id] : NULL;
  return u && !s->viewed && fuse_memory_form(u->form) ? u : NULL;
}

/* Of a sum; nothing else yet. */
static bool is_term(const FusionGroup *u) {
  for (uint32_t i = 0; i < u->members.n; i++)
    if (u->members.at[i] != u->root && fuse_computes(u->members.at[i])) return false;
  return true;
}

/* Fusing the op would delay a product or reduction in the unit until the op's other operands are
   ready, and extend live ranges. Of the two gradients of a value that is read twice, the first is
   ready long before the second: its operands would stay live. The same holds for the terms of a
   long sum, such as a bias's gradient over the steps of a recurrent net. A product with fewer bytes
   of operands than of result may be delayed until the partial sum is ready. */
static bool delays(const Fuse *f, const FusionGroup *a, ValueId v, const Op *op) {
  for (int k = 0; k < op->noperands; k++) {
    Source s = fuse_source(f, op->operands[k]);
    const Op *def = s.def;
    if (!def || def->parent != f->block || f->unit[def->id] == a) continue;
    uint32_t anchors = f->anchors[def->id];
    const FusionGroup *sum = product_of(f, &s);
    bool far = a->root && anchors >= f->anchors[a->root->id] + FAR_ANCHORS;
    if (far && sum && is_term(a) && !is_term(sum)) far = extends_live_ranges(f, a, v, anchors);
    if (far || (a->form == FORM_MAP && extends_live_ranges(f, a, v, anchors))) return true;
  }
  return false;
}

/* ---- what the backward pass computes from values of the forward pass ---- */

enum { MAX_LATE = 64 }; /* ops that are looked at */

/* Element-wise ops of the backward pass that depend on forward values alone, and the bytes of saved
   activations with and without them. */
typedef struct Late {
  const Fuse *f;
  uint32_t far;   /* anchor ops before a reader that is far behind */
  uint32_t first; /* before the first of these */
  VEC(const Op *) ops;
  ValueList operands;   /* that would be saved for them, if nothing else saves them */
  uint64_t results, of; /* bytes of what far readers read of them, and of the operands */
} Late;

static bool is_late(const Fuse *f, const Op *op) {
  return op->backward && op->parent == f->block && op->nresults == 1 &&
         op_info[op->kind].cls == CLASS_ELEMENT;
}

static bool is_among(const Late *w, const Op *op) {
  for (uint32_t i = 0; i < w->ops.n; i++)
    if (w->ops.at[i] == op) return true;
  return false;
}

/* Adds the op and its element-wise users; false if a result has a reader that is neither
   element-wise nor far behind. */
static bool add_late(Late *w, const Op *op) {
  const Fuse *f = w->f;
  if (is_among(w, op)) return true;
  if (!is_late(f, op) || w->ops.n == MAX_LATE || !f->users[op->results[0]].n) return false;
  vec_push(f->a, &w->ops, op);
  bool saved = false;
  for (uint32_t i = 0; i < f->users[op->results[0]].n; i++) {
    const Op *user = f->users[op->results[0]].at[i];
    if (op_info[user->kind].cls != CLASS_ELEMENT || user->parent != f->block) return false;
    uint32_t anchors = f->anchors[user->id];
    if (anchors < w->far && !add_late(w, user)) return false;
    saved |= anchors >= w->far;
    if (anchors >= w->far && anchors < w->first) w->first = anchors;
  }
  if (saved) w->results += value_type(f->e, op->results[0])->bytes;
  return true;
}

/* Adds all other late users of the value, also through views, where this is legal. */
static void add_siblings(Late *w, ValueId v) {
  const Fuse *f = w->f;
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    Late was = *w;
    if (is_view(f, user))
      add_siblings(w, user->results[0]);
    else if (f->anchors[user->id] < w->far && !add_late(w, user))
      *w = was;
  }
}

static void add_operand(Late *w, ValueId v) {
  const Fuse *f = w->f;
  const Op *def = value_def(f->e, v);
  for (; def && is_view(f, def) && def->noperands; def = value_def(f->e, v)) v = def->operands[0];
  bool there = !def || f->inlined[def->id] || op_info[def->kind].cls == CLASS_GLOBAL;
  if (there || is_among(w, def)) return;
  for (uint32_t i = 0; i < w->operands.n; i++)
    if (w->operands.at[i] == v) return;
  vec_push(f->a, &w->operands, v);
  add_siblings(w, v);
}

/* Others read the value about as late as what follows from them is. */
static bool is_saved(const Late *w, ValueId v) {
  const Fuse *f = w->f;
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (is_view(f, user) ? is_saved(w, user->results[0])
                         : user->parent == f->block && !is_among(w, user) &&
                               f->anchors[user->id] + FAR_ANCHORS >= w->first)
      return true;
  }
  return false;
}

/* The op, and other ops of the backward pass on the same values, are fused into their readers and
   need no bytes. Fused with their producer, they would be saved activations. This pays if others
   read the operands about as late, or if the operands have fewer bytes. */
static bool read_far(const Fuse *f, const Op *producer, const Op *op) {
  while (!fuse_computes(producer)) producer = value_def(f->e, producer->operands[0]);
  if (!is_late(f, op) || producer->backward) return false;
  Late w = {.f = f, .far = f->anchors[op->id] + FAR_ANCHORS, .first = UINT32_MAX};
  if (!add_late(&w, op)) return false;
  for (uint32_t i = 0; i < w.ops.n; i++)
    for (int k = 0; k < w.ops.at[i]->noperands; k++) add_operand(&w, w.ops.at[i]->operands[k]);
  for (uint32_t i = 0; i < w.operands.n; i++) {
    ValueId v = w.operands.at[i];
    if (!is_saved(&w, v)) w.of += value_type(f->e, v)->bytes;
  }
  return !w.of || w.results > w.of;
}

const char *fuse_apart(const Fuse *f, const FusionGroup *a, const Source *s, const Op *op) {
  return goes_with_sum(f, a, s->v, op)    ? "it is computed where it is summed"
         : goes_with_rows(f, a, s->v, op) ? "rows compute it"
         : read_far(f, s->def, op)        ? "it is computed where it is read"
         : delays(f, a, s->v, op)         ? "it would wait for a value made far behind"
                                          : NULL;
}

/* An op that adds two products becomes the epilogue of the later one, by the longest path to it. It
   becomes the epilogue of the earlier one if that can be delayed at no cost and the later one has
   an addition already. */
static bool is_preferred(const Fuse *f, const Source *s, const Source *than) {
  const FusionGroup *a = product_of(f, s), *b = product_of(f, than);
  uint32_t at = f->anchors[a->root->id], bt = f->anchors[b->root->id];
  if (at < bt) return is_term(a) && !is_term(b) && !extends_live_ranges(f, a, s->v, bt);
  return at > bt && (!is_term(b) || is_term(a) || extends_live_ranges(f, b, than->v, at));
}

int fuse_first(const Fuse *f, const Op *op) {
  int first = -1;
  Source best;
  for (int k = 0; k < op->noperands; k++) {
    Source s = fuse_source(f, op->operands[k]);
    if (!product_of(f, &s) || (first >= 0 && !is_preferred(f, &s, &best))) continue;
    best = s;
    first = k;
  }
  return first < 0 ? 0 : first;
}
