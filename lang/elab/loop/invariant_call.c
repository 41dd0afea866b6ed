/* Unnamed calls in the body of a scan. As in a for, in an entry that trains nothing, the same call
   with the same arguments shares its params; any other call would declare them a second time.
   Contract: the carries are known once the body is read. So calls that declare variables are
   recorded, and checked at the end of the loop: their arguments must not depend on the counter, a
   carry or a draw. Then they are recorded in the loop around, and checked there. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

/* The value that a captured value stands for outside of the loops from l up to `end`. */
static ValueId resolve_to(const ScanLevel *l, const ScanLevel *end, ValueId v) {
  for (; l != end; l = l->up) {
    const Capture *c = capture_of(l, v);
    if (c) v = c->outer;
  }
  return v;
}

static Val val_resolve_to(Elab *e, const ScanLevel *l, const ScanLevel *end, Val v) {
  if (v.kind == VAL_TENSOR && v.tensor.run == e->run) v.tensor.id = resolve_to(l, end, v.tensor.id);
  if (!val_has_items(v)) return v;
  Val *item = ARENA_ARRAY(e->a, Val, v.list->n + 1);
  for (int i = 0; i < v.list->n; i++) item[i] = val_resolve_to(e, l, end, v.list->at[i]);
  return val_with_items(e, v, item);
}

static const Actual *args_resolve_to(Elab *e, const ScanLevel *l, const ScanLevel *end,
                                     const Actual *arg, int n) {
  Actual *own = ARENA_ARRAY(e->a, Actual, n + 1);
  for (int i = 0; i < n; i++) {
    own[i] = arg[i];
    own[i].v = val_resolve_to(e, l, end, arg[i].v);
  }
  return own;
}

const Actual *args_resolve(Elab *e, const Actual *arg, int n) {
  return e->run->scan ? args_resolve_to(e, e->run->scan, NULL, arg, n) : arg;
}

ValueId capture_resolve(Elab *e, ValueId v) { return resolve_to(e->run->scan, NULL, v); }

/* ---- values that depend on the iteration ---- */

/* Marks the values that depend on marked ones. */
static bool mark_dependent(const Entry *en, const Block *b, bool *varies) {
  bool any = false;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    bool yes = false;
    for (int k = 0; k < op->noperands; k++) yes |= varies[op->operands[k]];
    for (int k = 0; k < op->nblocks; k++) yes |= mark_dependent(en, op->blocks[k], varies);
    for (int k = 0; k < op->nresults; k++) varies[op->results[k]] = yes;
    any |= yes;
  }
  return any;
}

static bool val_varies(const Elab *e, Val v, const bool *varies) {
  if (v.kind == VAL_TENSOR) return v.tensor.run == e->run && varies[v.tensor.id];
  bool yes = false;
  if (val_has_items(v))
    for (int i = 0; i < v.list->n; i++) yes |= val_varies(e, v.list->at[i], varies);
  return yes;
}

bool scan_check_calls(Elab *e, const ScanLevel *l) {
  if (!l->calls.n) return true;
  Entry *en = e->run->entry;
  bool *varies = ARENA_ARRAY(e->a, bool, en->values.n + 1);
  varies[l->block->args.at[0]] = true;
  for (uint32_t i = 0; i < l->draws.n; i++) varies[l->draws.at[i].arg] = true;
  for (uint32_t i = 0; i < l->captures.n; i++)
    varies[l->captures.at[i].arg] = l->captures.at[i].next != NO_ID;
  (void)mark_dependent(en, l->block, varies);
  for (uint32_t i = 0; i < l->calls.n; i++) {
    const InvariantCall *r = &l->calls.at[i];
    for (int k = 0; k < r->n; k++) {
      if (!val_varies(e, r->arg[k].v, varies)) continue;
      global_declared_again(e, r->frame, r->path);
      return false;
    }
  }
  /* the loop around checks them on its own values, which the captures here stand for */
  for (uint32_t i = 0; l->up && i < l->calls.n; i++) {
    InvariantCall r = l->calls.at[i];
    r.arg = args_resolve_to(e, l, l->up, r.arg, r.n);
    vec_push(e->a, &l->up->calls, r);
  }
  return true;
}
