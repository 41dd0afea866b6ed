/* The placement of every value, forward through the program. Contract: reads the IR alone. Loads,
   constants and inputs that are not along the batch are replicated, and so is the extent of the
   batch, of all ranks' rows. The carries of a loop are at the placement that an iteration
   gives them back at, found by iterating; a carry that begins with zeros may begin as a partial
   sum, so that gradients are summed over the ranks once, behind the loop. One whose placement does
   not settle is replicated. */
#include "passes/distribute/distribute_impl.h"

/* What an iteration has of a stack; REPLICATED if that is sharded along the loop. */
static Placement iteration_of(Placement stack) {
  if (stack.kind == SLICED || (stack.kind == SHARDED && stack.axis == 0))
    return (Placement){.kind = REPLICATED, .local = stack.local};
  if (stack.kind == SHARDED) stack.axis--;
  return stack;
}

Placement placement_stack(Placement slice) {
  if (slice.kind == SLICED) slice.kind = REPLICATED; /* no run of the stack */
  if (slice.kind == SHARDED) slice.axis++;
  return slice;
}

bool placement_reshaped(const Distribution *d, const Type *x, const Type *y, Placement p,
                        Placement *to) {
  Ctx *c = d->e->module->ctx;
  int64_t before = p.outer, batch = batch_as_axis(d);
  for (int i = 0; i < p.axis; i++) before = axis_product(c, before, type_axis(x, i));
  for (int i = 0; i < y->rank && before; i++) { /* what is before the rows, from axis i on */
    const int64_t rows = axis_product(c, before, batch);
    *to = (Placement){SHARDED, i, before, false};
    if (rows && axis_quotient(c, type_axis(y, i), rows)) return true;
    before = axis_quotient(c, before, type_axis(y, i));
  }
  return false;
}

bool placement_is_free(const Distribution *d, ValueId v, Placement want) {
  const Op *op = value_def(d->e, v);
  if (!op || (d->at[v].kind == SHARDED && d->at[v].local)) return false;
  if (op->kind == OP_CONST) return true;
  if (op_info[op->kind].cls == CLASS_ELEMENT && op->noperands == 1 &&
      !(op_info[op->kind].flags & OPF_POSITION))
    return placement_is_free(d, op->operands[0], want);
  if (op->kind != OP_BROADCAST) return false;
  const PlacementKind have = d->at[op->operands[0]].kind;
  if (have != REPLICATED && have != SLICED) return false;
  const Type *from = value_type(d->e, op->operands[0]);
  if (want.kind == SLICED) return from->numel == 1; /* a slice has no axes */
  int axis = want.axis - (value_type(d->e, v)->rank - from->rank);
  return axis < 0 || from->dim[axis] == 1;
}

/* All operands that are along the batch are at p, or may as well be. */
static bool may_share(const Distribution *d, const Op *op, const Placement *have, Placement p) {
  for (int i = 0; i < op->noperands; i++)
    if (have[i].kind == SHARDED && !placement_same(have[i], p) &&
        !placement_is_free(d, op->operands[i], p))
      return false;
  return true;
}

int placement_shared(const Distribution *d, const Op *op, const Placement *have) {
  bool any = false;
  for (int i = 0; i < op->noperands; i++) {
    if (have[i].kind != SHARDED) continue;
    if (may_share(d, op, have, have[i])) return i;
    any = true;
  }
  return any ? NOT_SHARED : -1;
}

static void place_block(Distribution *d, const Block *b);

static const Placement replicated = {.kind = REPLICATED}, partial = {.kind = PARTIAL},
                       sliced = {.kind = SLICED};

static bool of_moments(const Distribution *d, ValueId v) { return d->moments && d->moments[v]; }

/* As it is made, or as it is behind its reduction. */
static void place(Distribution *d, ValueId v, Placement p) {
  const bool reduced = p.kind == PARTIAL && (d->reduce[v] || of_moments(d, v));
  if (p.kind == PARTIAL && p.local)
    d->at[v] = (Placement){.kind = REPLICATED, .local = true};
  else if (p.kind == PARTIAL && d->update && d->update[v])
    d->at[v] = sliced;
  else
    d->at[v] = reduced ? replicated : p;
}

static bool has_factor(const Extent *x, const Extent *y) {
  for (int i = 0; x && i < x->nfactors; i++)
    if (x->factor[i] == y) return true;
  return false;
}

/* The first axis that the extent of the batch bounds, alone or with others, or -1. */
static int batch_axis(const Distribution *d, const Type *t) {
  for (int i = 0; d->extent && i < t->rank; i++)
    if (has_factor(type_extent(t, i), d->extent)) return i;
  return -1;
}

static void place_plain(Distribution *d, const Op *op) {
  Placement *have = ARENA_ARRAY(d->a, Placement, op->noperands + 1);
  Placement *want = ARENA_ARRAY(d->a, Placement, op->noperands + 1);
  Placement *get = ARENA_ARRAY(d->a, Placement, op->nresults + 1);
  for (int i = 0; i < op->noperands; i++) have[i] = d->at[op->operands[i]];
  placement_rule(d, op, have, want, get);
  for (int i = 0; i < op->nresults; i++) {
    ValueId v = op->results[i];
    int axis = batch_axis(d, value_type(d->e, v));
    bool rows =
        op->nresults == 1 && get[i].kind == REPLICATED && axis >= 0; /* a rank has its own alone */
    place(d, v, rows ? (Placement){SHARDED, axis, 1, get[i].local} : get[i]);
  }
}

/* ---- loops ---- */

static bool begins_with_zeros(const Distribution *d, ValueId v) {
  Attr value;
  const Type *t = value_type(d->e, v);
  if (!dtype_is_float(t->dtype)) return false;
  for (const Op *def = value_def(d->e, v); def && def->kind == OP_BROADCAST;
       def = value_def(d->e, v))
    v = def->operands[0];
  return value_const(d->e, v, &value) && value.f == 0;
}

static void place_arguments(Distribution *d, const Op *scan, const Placement *carry) {
  const Block *b = scan->blocks[0];
  d->at[b->args.at[0]] = replicated;
  for (int i = 0; i < scan->noperands; i++)
    d->at[b->args.at[i + 1]] =
        i < scan_carries(scan) ? carry[i] : iteration_of(d->at[scan->operands[i]]);
}

/* One iteration more; false: the carries have come back as they were. */
static bool settle(Distribution *d, const Op *scan, Placement *carry) {
  const Op *yield = plan_yield(d->e, scan);
  bool changed = false;
  place_arguments(d, scan, carry);
  place_block(d, scan->blocks[0]);
  for (int i = 0; i < scan_carries(scan); i++) {
    Placement next = d->at[yield->operands[i]];
    if (next.kind == PARTIAL && d->reduce[scan->blocks[0]->args.at[i + 1]]) next = replicated;
    changed |= !placement_same(carry[i], next);
    carry[i] = next;
  }
  return changed;
}

static void place_scan(Distribution *d, const Op *scan) {
  enum { ROUNDS = 4 };
  int carries = scan_carries(scan);
  Placement *carry = ARENA_ARRAY(d->a, Placement, carries + 1);
  Placement *before = ARENA_ARRAY(d->a, Placement, carries + 1);
  for (int i = 0; i < carries; i++)
    carry[i] = !d->exact && begins_with_zeros(d, scan->operands[i]) &&
                       !d->reduce[scan->blocks[0]->args.at[i + 1]]
                   ? partial
                   : d->at[scan->operands[i]];
  for (int k = 0; k < ROUNDS; k++) {
    memcpy(before, carry, sizeof *carry * (size_t)carries);
    if (!settle(d, scan, carry)) break;
  }
  for (int i = 0; i < carries; i++)
    if (!placement_same(carry[i], before[i])) carry[i] = replicated;
  place_arguments(d, scan, carry);
  place_block(d, scan->blocks[0]);
  const Op *yield = plan_yield(d->e, scan);
  for (int i = 0; i < scan->nresults; i++)
    place(d, scan->results[i], i < carries ? carry[i] : placement_stack(d->at[yield->operands[i]]));
}

static void place_block(Distribution *d, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(d->e, b->ops.at[i]);
    if (op->kind == OP_SCAN)
      place_scan(d, op);
    else
      place_plain(d, op);
  }
}

/* ---- where partial sums are reduced ---- */

static void want_of(Distribution *d, const Op *op, Placement *want) {
  Placement *have = ARENA_ARRAY(d->a, Placement, op->noperands + 1);
  Placement *get = ARENA_ARRAY(d->a, Placement, op->nresults + 1);
  for (int i = 0; i < op->noperands; i++) have[i] = d->at[op->operands[i]];
  placement_rule(d, op, have, want, get);
}

static void count_readers(const Distribution *d, const Block *b, int *readers) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(d->e, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++) readers[op->operands[k]]++;
    for (int k = 0; k < op->nblocks; k++) count_readers(d, op->blocks[k], readers);
  }
}

/* What several ops read would be reduced once for each of them. In a loop it would be so in every
   iteration. */
static bool reduce_shared(Distribution *d, const int *readers) {
  bool more = false;
  for (ValueId v = 0; v < d->e->values.n; v++) {
    if (d->at[v].kind != PARTIAL || readers[v] < 2 || value_block(d->e, v) != d->e->body) continue;
    more |= !d->reduce[v];
    d->reduce[v] = true;
  }
  return more;
}

/* What one op wants whole is reduced where it is made, so that all read the one sum. */
static bool reduce_early(Distribution *d, const Block *b) {
  bool more = false;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(d->e, b->ops.at[i]);
    Placement *want = ARENA_ARRAY(d->a, Placement, op->noperands + 1);
    for (int k = 0; k < op->nblocks; k++) more |= reduce_early(d, op->blocks[k]);
    if (op->nblocks || op->kind == OP_YIELD) continue;
    want_of(d, op, want);
    for (int k = 0; k < op->noperands; k++) {
      ValueId v = op->operands[k];
      if (d->at[v].kind != PARTIAL || want[k].kind == PARTIAL) continue;
      if (want[k].kind == SHARDED && !d->extent && !value_type(d->e, v)->extent)
        continue; /* reduce_scatter */
      more |= !d->reduce[v];
      d->reduce[v] = true;
    }
  }
  return more;
}

Distribution placements_of(Arena *a, const Entry *e, int64_t batch, const Extent *extent,
                           const DistributeHow *how, Moments *const *moments) {
  const bool *slices = how->sliced;
  int ranks = how->ranks;
  Distribution d = {.a = a,
                    .e = e,
                    .ranks = ranks,
                    .exact = how->exact,
                    .batch = batch,
                    .extent = extent,
                    .sliced = slices,
                    .copy = how->copy,
                    .moments = moments};
  if (slices) d.update = slices_updates(a, e, slices, ranks);
  d.at = ARENA_ARRAY(a, Placement, e->values.n + 1);
  d.reduce = ARENA_ARRAY(a, bool, e->values.n + 1);
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    ValueId v = e->body->args.at[i];
    const Type *t = value_type(e, v);
    bool along = t->rank > 0 && t->dim[0] == batch && type_extent(t, 0) == extent;
    d.at[v] = along ? (Placement){SHARDED, 0, 1, false} : replicated;
  }
  int *readers = ARENA_ARRAY(a, int, e->values.n + 1);
  count_readers(&d, e->body, readers);
  do place_block(&d, e->body);
  while (reduce_shared(&d, readers) || reduce_early(&d, e->body));
  return d;
}

/* ---- what cannot be split ---- */

/* All that a rank may have of it is its rows, along one axis, which is a multiple of the batch. */
static bool fits(const Distribution *d, ValueId v) {
  Ctx *c = d->e->module->ctx;
  const Type *t = value_type(d->e, v);
  const Placement p = d->at[v];
  for (int i = 0; i < t->rank; i++) {
    const bool here = p.kind == SHARDED && p.axis == i;
    int64_t one = here ? axis_product(c, p.outer, batch_as_axis(d)) : 0;
    int64_t rest = one ? axis_quotient(c, type_axis(t, i), one) : 0;
    if (here ? !rest || (d->extent && has_factor(axis_extent(c, rest), d->extent))
             : d->extent && has_factor(type_extent(t, i), d->extent))
      return false;
  }
  return true;
}

static bool stays(const Distribution *d, ValueId v, Placement want) {
  return d->at[v].kind != SHARDED || placement_same(d->at[v], want) ||
         (want.kind == SHARDED && placement_is_free(d, v, want));
}

static bool scan_is_refused(const Distribution *d, const Op *scan) {
  const Op *yield = plan_yield(d->e, scan);
  for (int i = 0; i < scan->noperands; i++) {
    Placement arg = d->at[scan->blocks[0]->args.at[i + 1]];
    bool carry = i < scan_carries(scan);
    if (!stays(d, scan->operands[i], carry ? arg : placement_stack(arg))) return true;
    if (carry && !stays(d, yield->operands[i], arg)) return true;
  }
  return false;
}

static const Op *refused_in(Distribution *d, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(d->e, b->ops.at[i]), *inner = NULL;
    Placement *want = ARENA_ARRAY(d->a, Placement, op->noperands + 1);
    for (int k = 0; k < op->nresults; k++)
      if (!fits(d, op->results[k])) return op;
    if (op->kind == OP_SCAN && scan_is_refused(d, op)) return op;
    if (op->kind == OP_SCAN && (inner = refused_in(d, op->blocks[0]))) return inner;
    if (op->kind == OP_SCAN || op->kind == OP_YIELD) continue;
    want_of(d, op, want);
    for (int k = 0; k < op->noperands; k++)
      if (!stays(d, op->operands[k], want[k])) return op;
  }
  return NULL;
}

const Op *placements_refused(Distribution *d) {
  const Extent *all[ENTRY_EXTENTS];
  return entry_extents(d->e, all) ? refused_in(d, d->e->body) : NULL;
}
