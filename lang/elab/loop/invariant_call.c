/* Unnamed calls in the body of a scan: as in a for, where nothing is trained, the same call with
   the same arguments is the same function once more; any other would declare its params a second
   time.
   Contract: a body is read before it is known what its iterations change, so a call that declares
   something is noted, and looked at when the loop is over: what its arguments are made of must not
   be the counter, a carry, or the number of a draw. It is then looked at in the loop around. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

/* What the value stands for outside of the loops from l on, up to `end`. */
static ValueId outward(const ScanLevel *l, const ScanLevel *end, ValueId v) {
  for (; l != end; l = l->up)
    for (uint32_t i = 0; i < l->captures.n; i++)
      if (l->captures.at[i].arg == v) {
        v = l->captures.at[i].outer;
        break;
      }
  return v;
}

static Val val_outward(Elab *e, const ScanLevel *l, const ScanLevel *end, Val v) {
  if (v.kind == VAL_TENSOR && v.tensor.run == e->run) v.tensor.id = outward(l, end, v.tensor.id);
  if (v.kind != VAL_LIST && v.kind != VAL_TUPLE) return v;
  Val *item = ARENA_ARRAY(e->a, Val, v.list->n + 1);
  for (int i = 0; i < v.list->n; i++) item[i] = val_outward(e, l, end, v.list->at[i]);
  return val_list(e, v.kind, item, v.list->n, v.loc);
}

static const Actual *args_outward(Elab *e, const ScanLevel *l, const ScanLevel *end,
                                  const Actual *arg, int n) {
  Actual *own = ARENA_ARRAY(e->a, Actual, n + 1);
  for (int i = 0; i < n; i++) {
    own[i] = arg[i];
    own[i].v = val_outward(e, l, end, arg[i].v);
  }
  return own;
}

const Actual *scan_origin(Elab *e, const Actual *arg, int n) {
  return e->run->scan ? args_outward(e, e->run->scan, NULL, arg, n) : arg;
}

ValueId scan_outward(Elab *e, ValueId v) { return outward(e->run->scan, NULL, v); }

/* ---- what an iteration changes ---- */

/* Marks what is made of marked values. */
static bool mark(const Entry *en, const Block *b, bool *varies) {
  bool any = false;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    bool yes = false;
    for (int k = 0; k < op->noperands; k++) yes |= varies[op->operands[k]];
    for (int k = 0; k < op->nblocks; k++) yes |= mark(en, op->blocks[k], varies);
    for (int k = 0; k < op->nresults; k++) varies[op->results[k]] = yes;
    any |= yes;
  }
  return any;
}

static bool val_varies(const Elab *e, Val v, const bool *varies) {
  if (v.kind == VAL_TENSOR) return v.tensor.run == e->run && varies[v.tensor.id];
  bool yes = false;
  if (v.kind == VAL_LIST || v.kind == VAL_TUPLE)
    for (int i = 0; i < v.list->n; i++) yes |= val_varies(e, v.list->at[i], varies);
  return yes;
}

bool scan_repeats(Elab *e, const ScanLevel *l) {
  if (!l->repeats.n) return true;
  Entry *en = e->run->entry;
  bool *varies = ARENA_ARRAY(e->a, bool, en->values.n + 1);
  varies[l->block->args.at[0]] = true;
  for (uint32_t i = 0; i < l->draws.n; i++) varies[l->draws.at[i].arg] = true;
  for (uint32_t i = 0; i < l->captures.n; i++)
    varies[l->captures.at[i].arg] = l->captures.at[i].next != NO_ID;
  (void)mark(en, l->block, varies);
  for (uint32_t i = 0; i < l->repeats.n; i++) {
    const Repeat *r = &l->repeats.at[i];
    for (int k = 0; k < r->n; k++) {
      if (!val_varies(e, r->arg[k].v, varies)) continue;
      global_declared_again(e, r->frame, r->path);
      return false;
    }
  }
  /* in the loop around, by the values of it that the captured values here stand for */
  for (uint32_t i = 0; l->up && i < l->repeats.n; i++) {
    Repeat r = l->repeats.at[i];
    r.arg = args_outward(e, l, l->up, r.arg, r.n);
    vec_push(e->a, &l->up->repeats, r);
  }
  return true;
}
