/* Long sums side by side: those of several values of one shape, as of the squares of all gradients
   for their norm, are one kernel, whose launch and whose wait for memory they share. Contract: each
   of them is the sum of a single long row, whose summands the kernel makes of what lies in memory
   and nothing else reads; that is read again behind the last of the sums, or lies outside of the
   arena, so nothing is live any longer. Bits are those of a kernel for each. For targets that ask
   for it. */
#include "passes/fuse/fuse_impl.h"

static bool in_group(const Fuse *f, const FusionGroup *u, ValueId v) {
  for (uint32_t i = 0; i < f->users[v].n; i++)
    if (f->unit[f->users[v].at[i]->id] != u) return false;
  return true;
}

bool fuse_is_long_sum(const Fuse *f, const FusionGroup *u) {
  const Target *t = f->r->opt->target;
  if (!t || t->sums_together < 2 || f->in_order) return false;
  if (u->form != FORM_ROWS || u->outer != 0 || u->domain->numel <= SUM_ROW) return false;
  for (uint32_t i = 0; i < u->members.n; i++) {
    const Op *op = u->members.at[i];
    if (op->kind == OP_SUM) continue;
    if (op_info[op->kind].cls != CLASS_ELEMENT || op_calls_function(op->kind)) return false;
    for (int k = 0; k < op->nresults; k++)
      if (!type_same_dims(value_type(f->e, op->results[k]), u->domain) ||
          !in_group(f, u, op->results[k]))
        return false;
  }
  return true;
}

static int sums_of(const FusionGroup *u) {
  int n = 0;
  for (uint32_t i = 0; i < u->members.n; i++) n += u->members.at[i]->kind == OP_SUM;
  return n;
}

/* The last of both groups' sums in the given order. */
static uint32_t last_of(const Fuse *f, const FusionGroup *a, const FusionGroup *b) {
  uint32_t last = 0;
  for (int side = 0; side < 2; side++) {
    const FusionGroup *u = side ? b : a;
    for (uint32_t i = 0; i < u->members.n; i++)
      if (f->pos[u->members.at[i]->id] > last) last = f->pos[u->members.at[i]->id];
  }
  return last;
}

/* By an op behind the position, perhaps through views. */
static bool read_behind(const Fuse *f, ValueId v, uint32_t pos) {
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    const bool viewed = f->inlined[user->id] || !fuse_computes(user);
    if (user->parent != f->block) continue;
    if (viewed ? read_behind(f, user->results[0], pos) : f->pos[user->id] > pos) return true;
  }
  return false;
}

static bool keeps_live_ranges(const Fuse *f, const FusionGroup *u, uint32_t last) {
  for (uint32_t i = 0; i < u->members.n; i++)
    for (int k = 0; k < u->members.at[i]->noperands; k++) {
      const Source s = fuse_source(f, u->members.at[i]->operands[k]);
      const bool made = s.def && s.def->parent == f->block && f->unit[s.def->id] != u &&
                        !f->inlined[s.def->id] && op_info[s.def->kind].cls != CLASS_GLOBAL;
      if (made && !read_behind(f, s.v, last)) return false;
    }
  return true;
}

bool fuse_sums_together(const Fuse *f, const FusionGroup *a, const FusionGroup *b) {
  if (sums_of(a) + sums_of(b) > f->r->opt->target->sums_together) return false;
  const uint32_t last = last_of(f, a, b);
  return keeps_live_ranges(f, a, last) && keeps_live_ranges(f, b, last);
}
