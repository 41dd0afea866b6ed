/* What an op is computed with: which of its producers it joins first, and which better not.
   Contract: says what would be held, and for how long; whether forms and shapes allow it is
   fuse.c's to say. */
#include "passes/fuse/fuse_impl.h"

/* Only sums over columns, or also those over everything, read it. */
static bool only_summed(const Fuse *f, const Op *op, bool columns) {
  if (op->nresults != 1 || op_info[op->kind].cls != CLASS_ELEMENT) return false;
  for (uint32_t i = 0; i < f->users[op->results[0]].n; i++) {
    const Op *user = f->users[op->results[0]].at[i];
    if (op_info[user->kind].cls != CLASS_REDUCE || op_start(user) >= 0) return false;
    if (op_outer_axes(f->e, user) > (columns ? -1 : 0)) return false;
  }
  return f->users[op->results[0]].n > 0;
}

static bool others_read(const Fuse *f, ValueId v, const Op *op) {
  for (uint32_t i = 0; i < f->users[v].n; i++)
    if (f->users[v].at[i] != op) return true;
  return false;
}

/* Sums compute it on their way, and it needs no bytes, if it does not go with what they cannot
   join: a product or window, or, for sums over columns, a value that others read, too. */
static bool goes_with_sum(const Fuse *f, const FusionGroup *producer, ValueId v, const Op *op) {
  if (fuse_memory_form(producer->form)) return only_summed(f, op, false);
  return producer->form == FORM_MAP && others_read(f, v, op) && only_summed(f, op, true);
}

enum { FAR = 2 }; /* heavy ops between */

static bool read_behind(const Fuse *f, ValueId v, uint32_t heavy, const Op *but) {
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (user != but && user->parent == f->block && f->heavy[user->id] >= heavy) return true;
  }
  return false;
}

/* While the unit, which makes v, waits until so many heavy ops have run, more bytes are held than
   v has: what it is made of, as far as nobody else reads it as late. */
static bool extends_live_ranges(const Fuse *f, const FusionGroup *a, ValueId v, uint32_t heavy) {
  uint64_t held = 0;
  bool far = false;
  for (uint32_t i = 0; i < a->members.n; i++) {
    const Op *op = a->members.at[i];
    for (int k = 0; k < op->noperands; k++) {
      Source s = fuse_source(f, op->operands[k]);
      bool here = s.def && s.def->parent == f->block && op_info[s.def->kind].cls != CLASS_GLOBAL &&
                  !f->inlined[s.def->id] && f->unit[s.def->id] != a;
      if (!here || read_behind(f, s.v, heavy, op)) continue;
      held += value_type(f->e, s.v)->bytes;
      far |= f->heavy[s.def->id] + FAR <= heavy;
    }
  }
  return far && held > value_type(f->e, v)->bytes;
}

/* The product or window that gives just this value, or NULL. */
static const FusionGroup *product_of(const Fuse *f, const Source *s) {
  const FusionGroup *u = s->def && s->def->parent == f->block ? f->unit[s->def->id] : NULL;
  return u && !s->viewed && fuse_memory_form(u->form) ? u : NULL;
}

static bool is_term(const FusionGroup *u) {
  return u->members.n == 1;
} /* of a sum; nothing else yet */

/* A product or reduction in the unit would wait for what the op reads besides: of the gradients of
   a value read twice the first is made far ahead of the second, and what it is made of would be
   held instead. So would the terms of a sum of many, such as a bias's gradient over the steps of a
   recurrent net; but a product that gives more than it is made of may wait for the sum so far. */
static bool delays(const Fuse *f, const FusionGroup *a, ValueId v, const Op *op) {
  for (int k = 0; k < op->noperands; k++) {
    Source s = fuse_source(f, op->operands[k]);
    const Op *def = s.def;
    if (!def || def->parent != f->block || f->unit[def->id] == a) continue;
    uint32_t heavy = f->heavy[def->id];
    const FusionGroup *sum = product_of(f, &s);
    bool far = a->root && heavy >= f->heavy[a->root->id] + FAR;
    if (far && sum && is_term(a) && !is_term(sum)) far = extends_live_ranges(f, a, v, heavy);
    if (far || (a->form == FORM_MAP && extends_live_ranges(f, a, v, heavy))) return true;
  }
  return false;
}

/* Values that are recomputed for the backward pass: only distant element-wise ops read them, and
   others read what it is made of about as late. It is computed with them, and has no bytes, instead
   of with its producer, and held. */
static bool read_far(const Fuse *f, const Op *producer, const Op *op) {
  uint32_t first = UINT32_MAX;
  if (!op->backward || producer->backward) return false;
  if (op_info[op->kind].cls != CLASS_ELEMENT || op->nresults != 1) return false;
  for (uint32_t i = 0; i < f->users[op->results[0]].n; i++) {
    const Op *user = f->users[op->results[0]].at[i];
    if (op_info[user->kind].cls != CLASS_ELEMENT || user->parent != f->block) return false;
    if (f->heavy[user->id] < first) first = f->heavy[user->id];
  }
  if (first == UINT32_MAX || first < f->heavy[op->id] + FAR) return false;
  for (int k = 0; k < op->noperands; k++) {
    Source s = fuse_source(f, op->operands[k]);
    bool there = !s.def || f->inlined[s.def->id] || op_info[s.def->kind].cls == CLASS_GLOBAL;
    if (!there && !read_behind(f, s.v, first - FAR, op)) return false;
  }
  return true;
}

const char *fuse_apart(const Fuse *f, const FusionGroup *a, const Source *s, const Op *op) {
  return goes_with_sum(f, a, s->v, op) ? "it is computed where it is summed"
         : read_far(f, s->def, op)     ? "it is computed where it is read"
         : delays(f, a, s->v, op)      ? "it would wait for what is made far behind"
                                       : NULL;
}

/* Of two products that an op adds up, it goes with the later one, by the longest way to it; but
   with the earlier one, if that may as well wait, where the later one adds up others already. */
static bool is_preferred(const Fuse *f, const Source *s, const Source *than) {
  const FusionGroup *a = product_of(f, s), *b = product_of(f, than);
  uint32_t at = f->heavy[a->root->id], bt = f->heavy[b->root->id];
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
