/* Data parallelism: each of N processes, the ranks, runs the entry on its own rows of the batch,
   and the sums that are over all rows go through collectives. Contract: runs behind autodiff and
   before the program is cut, fused or laid out. The global batch is the program's: results are
   those of one process within the order of summation. Losses, gradients and the statistics of batch
   norm are of all rows; random numbers are those of the global row. Parameters and states are
   replicated, so every rank does the same update.
   Method: every value has a placement (rules.c): replicated, sharded along the batch, or a partial
   sum. A product of activations and their gradients over the rows is a partial sum, and becomes a
   gradient by an all-reduce where something needs it whole. Entries that return rows are left as
   they are: every rank runs them whole. */
#include "passes/distribute/distribute_impl.h"

/* Of the first input that has the batch as its first axis, or an axis at all. */
static const Type *batch_of(const Entry *e) {
  const Extent *batch = entry_batch(e);
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    if (t->rank > 0 && (!batch || type_extent(t, 0) == batch)) return t;
  }
  return NULL;
}

/* Programs know an input that has no rows of the batch by its first axis. */
static bool tells_inputs_apart(const Entry *e, int64_t batch, const Extent *extent, int ranks) {
  for (uint32_t i = 0; i < e->body->args.n && !extent; i++) {
    const Value *v = value_at(e, e->body->args.at[i]);
    if (v->type->rank == 0 || v->type->dim[0] != batch / ranks) continue;
    diag(
        e->module->ctx, SEV_ERROR, e->loc,
        "the input %s of the entry %s has %lld rows, as the share of each of %d ranks in the batch",
        v->name, e->name, (long long)v->type->dim[0], ranks);
    diag(e->module->ctx, SEV_HINT, (Loc){0}, "take another batch, or another number of ranks");
    return false;
  }
  return true;
}

static bool returns_rows(const Distribution *d) {
  const ValueId *outputs;
  int n = entry_outputs(d->e, &outputs, NULL);
  for (int i = 0; i < n; i++)
    if (d->at[outputs[i]].kind == SHARDED) return true;
  return false;
}

static void report(PassRun *r, const Entry *e) {
  char bytes[32];
  remarks_of(r, e);
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (op_info[op->kind].cls != CLASS_COLLECTIVE) continue;
    remark(r, REMARK_COMM, "comm", op->loc, "%s of %s: %s bytes on each rank",
           op_info[op->kind].name, type_str(r->m->ctx, value_type(e, op->results[0])),
           plan_commas(bytes, value_type(e, op->results[0])->bytes));
  }
}

/* A batch that is gathered has equal shares on all ranks. */
static void say_static(Ctx *c, const Entry *e, Loc loc, const char *why, const Extent *batch) {
  diag(c, SEV_WARNING, loc, "the batch of the entry %s has all %lld rows, not fewer: %s", e->name,
       (long long)batch->bound, why);
  diag(c, SEV_HINT, (Loc){0}, "a last batch of fewer rows is left out; one process takes it");
}

/* An extent beside the batch's own; NULL: there is none. */
static const Extent *other_extent(const Entry *e, const Extent *batch) {
  const Extent *all[ENTRY_EXTENTS];
  int n = entry_extents(e, all);
  for (int i = 0; i < n; i++)
    if (all[i] != batch) return all[i];
  return NULL;
}

/* As the first input that has the extent declares it: 2 * h <= 48. */
static void hint_bound(const Entry *e, const Extent *x) {
  Ctx *c = e->module->ctx;
  const char *name = x->name;
  int64_t bound = x->bound;
  for (uint32_t i = 0, found = 0; i < e->body->args.n && !found; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    for (int k = 0; k < t->rank && !found; k++) {
      int64_t axis = type_axis(t, k), more = 0;
      axis_is_more(c, axis, &axis, &more);
      if (axis_extent(c, axis) != x) continue;
      const int64_t times = axis_multiple(axis);
      if (times > 1) name = intern_printf(c, "%lld * %s", (long long)times, name);
      if (more) name = intern_printf(c, "%s + %lld", name, (long long)more);
      bound = times * bound + more;
      found = 1;
    }
  }
  diag(c, SEV_HINT, (Loc){0}, "write %lld in place of %s <= %lld", (long long)bound, name,
       (long long)bound);
}

/* Rows that are gathered lie side by side. */
static bool refuse(const Entry *e, Loc loc, const char *why, const Extent *other) {
  diag(e->module->ctx, SEV_ERROR, loc,
       "data parallelism: %s, beside the extent %s, which is known only at run time", why,
       other->name);
  hint_bound(e, other);
  return false;
}

/* A program reads such inputs whole: their rows are not the batch's. */
static bool has_rows(const Entry *e, int ranks) {
  Ctx *c = e->module->ctx;
  const Type *t = batch_of(e);
  const Extent *x = t ? type_extent(t, 0) : NULL;
  if (!x || x == entry_batch(e)) return true;
  if (!e->training) return false;
  if (x->whole) x = axis_extent(c, x->whole);
  diag(c, SEV_ERROR, e->loc,
       "the entry %s has no batch to split among %d ranks: the extent %s of its inputs stands in a "
       "sum, or as an axis that is not the first",
       e->name, ranks, x->name);
  hint_bound(e, x);
  return false;
}

/* The batch has as many rows at its bound as the ranks can share. */
static bool splits_batch(const Type *t, int ranks) {
  const Extent *extent = t ? type_extent(t, 0) : NULL;
  return t && t->dim[0] > 0 && t->dim[0] % ranks == 0 && (!extent || extent->bound == t->dim[0]);
}

/* Each rank has an equal share of the batch; false, of an entry that trains after the error. */
static bool has_shares(const Entry *e, int ranks) {
  Ctx *c = e->module->ctx;
  const Type *t = batch_of(e);
  if (!has_rows(e, ranks)) return false;
  if (!t) {
    diag(c, SEV_ERROR, e->loc, "the entry %s has no input with a batch to split among %d ranks",
         e->name, ranks);
    return false;
  }
  if (splits_batch(t, ranks)) return true;
  diag(c, SEV_ERROR, e->loc, "the batch of %s%lld of the entry %s cannot be split among %d ranks",
       type_extent(t, 0) ? "at most " : "", (long long)t->dim[0], e->name, ranks);
  diag(c, SEV_HINT, (Loc){0}, "ranks have equal shares: take a batch that is a multiple of %d",
       ranks);
  return false;
}

bool passes_check_ranks(const Module *m, int ranks) {
  bool ok = true;
  for (uint32_t k = 0; k < m->entries.n; k++) {
    const Entry *e = m->entries.at[k];
    ok &= !e->training || e->ranks || has_shares(e, ranks);
  }
  return ok;
}

static bool distribute_entry(PassRun *r, Entry *e, const DistributeHow *how) {
  const int ranks = how->ranks;
  Ctx *c = r->m->ctx;
  const Type *t = batch_of(e);
  int64_t batch = t ? t->dim[0] : 0;
  const Extent *extent = t ? type_extent(t, 0) : NULL;
  const Extent *other = other_extent(e, extent);
  bool splits = splits_batch(t, ranks);
  if (e->ranks || (!e->training && !splits)) return true;
  if (!has_shares(e, ranks)) return !e->training;
  if (extent && batch == ranks && !e->training) return true; /* an extent is of 2 at least */
  if (extent && batch == ranks) {
    if (!batch_made_static(r->scratch, e, extent))
      return refuse(e, e->loc, "a rank's share of it is one row", other);
    say_static(c, e, e->loc, "a rank's share of it is one row", extent);
    extent = NULL;
  }
  Moments **moments = moments_find(r->scratch, e, &how->link, ranks);
  Distribution d = placements_of(r->scratch, e, batch, extent, how, moments);
  if (!e->training && returns_rows(&d)) return true;
  if (!tells_inputs_apart(e, batch, extent, ranks)) return false;
  const Op *refused = placements_refused(&d);
  if (refused && !e->training) return true;
  if (refused) {
    const char *what =
        intern_printf(c, "%s needs all rows of the batch", op_info[refused->kind].name);
    if (other || !batch_made_static(r->scratch, e, extent))
      return refuse(e, refused->loc, what, other);
    say_static(c, e, refused->loc, what, extent);
    d = placements_of(r->scratch, e, batch, NULL, how, moments);
    if (!tells_inputs_apart(e, batch, NULL, ranks)) return false;
  }
  distribute_build(&d, e);
  report(r, e);
  r->changes++;
  return true;
}

static void warn_if_none(const PassRun *r, const bool *sliced, int ranks) {
  bool any = false;
  for (uint32_t i = 0; i < r->m->globals.n; i++) any |= sliced[i];
  if (!any)
    diag(r->m->ctx, SEV_WARNING, (Loc){0},
         "--shard changes nothing: no optimizer has state to divide among %d ranks", ranks);
}

/* A program whose entries are all whole runs them as often as there are ranks, to no use. */
static void say_if_whole(const Module *m, int ranks) {
  const Entry *first = m->entries.n ? m->entries.at[0] : NULL;
  for (uint32_t k = 0; k < m->entries.n; k++)
    if (m->entries.at[k]->ranks) return;
  diag(m->ctx, SEV_WARNING, first ? first->loc : (Loc){0},
       "no entry is split among the %d ranks: each of them runs every entry whole", ranks);
  diag(
      m->ctx, SEV_HINT, (Loc){0},
      "leave out --data-parallel; an entry is split if it trains, or if its batch is a multiple of "
      "%d and it returns no rows",
      ranks);
}

/* What is updated in slices stays so, given the slices of the optimizers' state. */
static const int *slice_params(PassRun *r, const DistributeHow *how, bool *sliced) {
  ParamChoice *choice = ARENA_ARRAY(r->scratch, ParamChoice, r->m->globals.n + 1);
  for (uint32_t k = 0; k < r->m->entries.n; k++) {
    const Entry *e = r->m->entries.at[k];
    const Type *t = batch_of(e);
    bool shares = e->training && !e->ranks && splits_batch(t, how->ranks);
    const Distribution d =
        shares ? placements_of(r->scratch, e, t->dim[0], type_extent(t, 0), how, NULL)
               : (Distribution){0};
    params_look(shares ? &d : NULL, e, choice);
  }
  return params_slice(r->scratch, r->m, choice, sliced);
}

bool pass_distribute(PassRun *r) {
  int64_t ranks = pass_arg_int(r, "ranks", 1);
  bool slices = strcmp(pass_arg_str(r, "shard", "none"), "none") != 0;
  if (ranks <= 1) {
    local_drop(r->m);
    return true;
  }
  if (!r->m->entries.n) return true; /* all leave it out: the trial of one process (guard.c) */
  /* What autodiff has left behind may need rows of all ranks, and is of no use to any. */
  for (uint32_t k = 0; k < r->m->entries.n; k++)
    r->changes += dce_entry(r->scratch, r->m->entries.at[k]);
  const uint32_t globals = r->m->globals.n;
  const Snapshot came = snapshot_take(r->scratch, r->m); /* what is refused stays as it is */
  bool *sliced = slices ? slices_choose(r->scratch, r->m, (int)ranks) : NULL;
  DistributeHow how = {(int)ranks, pass_arg_int(r, "exact", 0) != 0, sliced, NULL, link_of(r->opt)};
  if (sliced) {
    warn_if_none(r, sliced, (int)ranks);
    how.copy = slice_params(r, &how, sliced);
  }
  for (uint32_t k = 0; k < r->m->entries.n; k++)
    if (!distribute_entry(r, r->m->entries.at[k], &how)) {
      snapshot_restore(r->m, &came);
      return false;
    }
  local_drop(r->m);
  say_if_whole(r->m, (int)ranks);
  if (!sliced) return true;
  slices_store(r->m, sliced, globals, (int)ranks);
  params_gather(r->m, how.copy, globals);
  return true;
}
