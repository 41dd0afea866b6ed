/* Micro-batches: under a byte limit a batch is done in equal parts, forward and backward for one
   after the other. Activations are live for one part at a time, and gradients are added up from
   part to part (gradient accumulation; micro-batches are those of Huang et al., GPipe, 2019).
   Contract: runs before fusion and layouts. Does nothing without a limit, nor if the entry fits as
   it is, nor if little recomputation makes it fit. Results stay the same to the last bit in f32:
   sums over the batch are continued at the end of one of their chunks, and a sum that cannot be
   continued waits for the whole (microbatch_roles.c). No arithmetic is done twice. With parts=N
   each entry's batch is done in so many parts. With scatter=1 a rank of a data-parallel program has
   its slice of a gradient's sum from part to part, where --shard slices it: each part's gradient is
   reduce-scattered (ZeRO-2: Rajbhandari et al., 2020), and sums are in the order of the parts. */
#include "passes/shrink/microbatch_impl.h"

/* What has as many elements along its first axis as most bytes of the inputs is the batch: a dim as
   type_get takes it. */
static int64_t batch_of(Arena *a, const Entry *e) {
  const Block *body = e->body;
  uint64_t *bytes = ARENA_ARRAY(a, uint64_t, body->args.n), max = 0;
  int64_t batch = 0;
  for (uint32_t i = 0; i < body->args.n; i++) {
    const Type *t = value_type(e, body->args.at[i]);
    for (uint32_t k = 0; t->rank && k <= i; k++) {
      const Type *u = value_type(e, body->args.at[k]);
      if (!u->rank || type_axis(u, 0) != type_axis(t, 0)) continue;
      bytes[k] += t->bytes;
      if (bytes[k] > max) max = bytes[k], batch = type_axis(t, 0);
      break;
    }
  }
  return batch;
}

/* Bytes of all that the entry makes, and of what is then never whole. */
static void weigh(const Micro *m, uint64_t *all, uint64_t *saved) {
  const Block *body = m->e->body;
  uint64_t cut = 0, whole = 0; /* a view of what is cut may be whole */
  *all = 0;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(m->e, body->ops.at[i]);
    bool makes = op->kind != OP_LOAD && op_info[op->kind].cls != CLASS_VIEW;
    for (int k = 0; k < op->nresults; k++) {
      uint64_t bytes = value_type(m->e, op->results[k])->bytes;
      *all += makes ? bytes : 0;
      cut += makes && m->cut[op->results[k]] ? bytes : 0;
      whole += m->whole[op->results[k]] ? bytes : 0;
    }
  }
  *saved = cut > whole ? cut - whole : 0;
}

/* Rows of the batch, at its bound; parts of a bounded one have two or more. */
static int64_t rows_of(const Entry *e, int64_t batch) {
  const Extent *x = axis_extent(e->module->ctx, batch);
  return x ? axis_multiple(batch) * x->bound : batch;
}

static bool can_cut(const Entry *e, int64_t batch, int64_t parts) {
  const Extent *x = axis_extent(e->module->ctx, batch);
  int64_t n = x ? x->bound : batch;
  return n > 0 && parts > 1 && n % parts == 0 && (!x || n / parts > 1);
}

/* A bounded batch that has no equal parts of two rows: one of 2, 3, 5, 7, 11, … */
static bool has_no_parts(const Entry *e, int64_t batch) {
  const Extent *x = axis_extent(e->module->ctx, batch);
  bool none = x != NULL;
  for (int64_t parts = 2; none && parts <= x->bound / parts; parts++) none = x->bound % parts != 0;
  return none && x->bound > 1;
}

static void tell_no_parts(PassRun *r, const Entry *e, int64_t batch) {
  const Extent *x = axis_extent(e->module->ctx, batch);
  remarks_of(r, e);
  remark(r, REMARK_REMAT, "remat-missed", e->loc,
         "the batch of %s <= %lld is whole: a bounded one is done in equal parts of two rows or "
         "more, and %lld rows have none",
         x->name, (long long)x->bound, (long long)x->bound);
}

/* Much of what the entry makes need not be whole: a mean over the batch in its midst, such as batch
   normalisation has in training, leaves little. */
static bool pays(Arena *a, const Entry *e, int64_t batch, int64_t parts, bool scatter) {
  enum { WORTH = 8 };
  uint64_t all, saved;
  if (!can_cut(e, batch, parts)) return false;
  Micro m = micro_of(a, e, batch, parts, scatter);
  weigh(&m, &all, &saved);
  return saved > all / WORTH;
}

typedef struct Choice {
  int64_t parts;
  bool is_record; /* leaves much less whole than all fewer parts */
} Choice;

typedef VEC(Choice) Choices;

/* Numbers of parts that are worth a trial, in ascending order: about twice as many each time, and
   those that leave much less whole than fewer parts do. Sums over the batch go on from part to part
   only where a chunk of theirs ends, so that parts of one size keep what others do not, however
   large the batch is: what stays whole and one part of the rest must be less than with fewer parts.
   All parts together are a program that is planned in seconds. */
static Choices find_choices(Arena *a, const Entry *e, int64_t batch, bool scatter) {
  enum {
    MAX_OPS = 20000,        /* of all parts */
    MAX_RECORD_OPS = 80000, /* of those that are a record */
    MUCH = 8                /* less by this part of what is left whole */
  };
  int64_t ops = (int64_t)e->body->ops.n, next = 2;
  uint64_t min = UINT64_MAX, min_live = UINT64_MAX, all, saved;
  Choices out = {0};
  for (int64_t n = 2; n <= rows_of(e, batch) && n <= MAX_RECORD_OPS / ops; n++) {
    if (!pays(a, e, batch, n, scatter)) continue;
    Micro m = micro_of(a, e, batch, n, scatter);
    weigh(&m, &all, &saved);
    uint64_t left = all - saved, live = left + saved / (uint64_t)n;
    bool record = left < min - min / MUCH;
    if (live >= min_live || (!record && (n < next || n > MAX_OPS / ops))) continue;
    min_live = live;
    if (left < min) min = left;
    if (n >= next) next = 2 * n;
    vec_push(a, &out, (Choice){n, record});
  }
  return out;
}

static bool scatters(PassRun *r) { return pass_arg_int(r, "scatter", 0) != 0; }

/* Values that an op reads whole: those of some bytes or more, else, where one is asked for, the
   first of the largest. */
static void report_whole(PassRun *r, const Micro *m, uint64_t bytes, bool one) {
  uint64_t most = 0;
  ValueId largest = NO_ID;
  char buf[32];
  for (ValueId v = 0; v < m->e->values.n; v++) {
    const uint64_t has = m->whole[v] && value_def(m->e, v) ? value_type(m->e, v)->bytes : 0;
    if (has > most) most = has, largest = v;
  }
  for (ValueId v = 0; v < m->e->values.n; v++) {
    const Op *op = value_def(m->e, v);
    const bool large = op && m->whole[v] && value_type(m->e, v)->bytes >= bytes;
    if (!large && !(one && most < bytes && v == largest)) continue;
    remark(r, REMARK_REMAT, "remat-missed", op->loc, "%s of %s (%s) is whole all the same: %s",
           value_str(m->e, v), op_info[op->kind].name, plan_commas(buf, value_type(m->e, v)->bytes),
           micro_why_whole(m, v));
  }
}

static void report_microbatch(PassRun *r, const Entry *e, int64_t batch, int64_t parts) {
  enum { SMALL = 100 }; /* of what is saved: not worth a word */
  uint64_t all, saved;
  char buf[32];
  Micro m = micro_of(r->scratch, e, batch, parts, scatters(r));
  weigh(&m, &all, &saved);
  remarks_of(r, e);
  remark(r, REMARK_REMAT, "remat", e->loc,
         "the batch of %lld is done in %lld parts of %lld: %s bytes are never whole",
         (long long)rows_of(e, batch), (long long)parts, (long long)(rows_of(e, batch) / parts),
         plan_commas(buf, saved));
  report_whole(r, &m, saved / SMALL, false);
}

/* Of parts that leave too much whole those that leave the least; 0: all leave everything. */
static int64_t best_in_vain(Arena *a, const Entry *e, int64_t batch, bool scatter) {
  int64_t best = 0;
  uint64_t most = 0, all, saved;
  for (int64_t n = 2; n <= rows_of(e, batch); n++) {
    if (!can_cut(e, batch, n)) continue;
    Micro m = micro_of(a, e, batch, n, scatter);
    weigh(&m, &all, &saved);
    if (best && saved <= most) continue;
    best = n, most = saved;
  }
  return most ? best : 0;
}

/* Why a batch that has parts is whole under a limit that it may not meet. */
static void report_vain(PassRun *r, const Entry *e, int64_t batch) {
  enum { SMALL = 20 }; /* of what the entry makes */
  if (!(r->opt->remarks & REMARK_REMAT)) return;
  const int64_t parts = best_in_vain(r->scratch, e, batch, scatters(r));
  if (!parts) return;
  uint64_t all, saved;
  char left[32], of[32];
  Micro m = micro_of(r->scratch, e, batch, parts, scatters(r));
  weigh(&m, &all, &saved);
  remarks_of(r, e);
  remark(
      r, REMARK_REMAT, "remat-missed", e->loc,
      "the batch of %lld is whole: in %lld parts %s of the %s bytes that are made would be whole",
      (long long)rows_of(e, batch), (long long)parts, plan_commas(left, all - saved),
      plan_commas(of, all));
  report_whole(r, &m, all / SMALL, true);
}

static void apply_microbatch(PassRun *r, Entry *e, int64_t batch, int64_t parts) {
  Micro m = micro_of(r->scratch, e, batch, parts, scatters(r));
  micro_build(&m, e);
  r->changes++;
}

/* ---- under a limit ---- */

/* The fewest parts with which the entry fits as it then is, or else those with the fewest live
   bytes, and the trial of them; 1 if none save much of what the whole has. Parts that have more may
   come between. Packing ends by chance, so that the arena compares no parts that do not fit. The
   entry is left as it was. */
static bool choose_parts(PassRun *r, uint32_t k, uint64_t limit, const Trial *whole, Trial *best,
                         int64_t *parts) {
  enum {
    LESS = 8,    /* a part that they save, if they do not fit */
    MAX_IDLE = 2 /* more parts since the last record, one after the other, that take no fewer */
  };
  int idle = 0;
  Entry *e = r->m->entries.at[k], before = *e;
  Trial *now = ARENA_ARRAY(r->scratch, Trial, r->m->entries.n);
  int64_t batch = batch_of(r->scratch, e);
  *parts = 1;
  *best = *whole;
  const Choices choices = find_choices(r->scratch, e, batch, scatters(r));
  for (uint32_t i = 0; i < choices.n && best->arena > limit; i++) {
    int64_t n = choices.at[i].parts;
    if (choices.at[i].is_record) idle = 0;
    if (idle >= MAX_IDLE) continue;
    apply_microbatch(r, e, batch, n);
    bool ok = trial_run(r, 0, now);
    *e = before;
    if (!ok) return false;
    if (now[k].arena > limit && now[k].bound >= best->bound) {
      idle++;
      continue;
    }
    idle = 0;
    *best = now[k];
    *parts = n;
  }
  if (best->arena > limit && best->bound > whole->bound - whole->bound / LESS) *parts = 1;
  return true;
}

/* Where parts fit as they are: does the whole batch, and runs at most a hundredth again? That is
   less than what smaller kernels cost. */
static bool whole_is_cheap(PassRun *r, uint32_t k, uint64_t limit, bool *cheap) {
  enum { LITTLE = 100 };
  Trial *was = ARENA_ARRAY(r->scratch, Trial, r->m->entries.n);
  if (!trial_brief(r, limit, was)) return false;
  *cheap = was[k].arena <= limit && was[k].again <= was[k].flops / LITTLE;
  return true;
}

static bool try_parts(PassRun *r, uint32_t k, uint64_t limit, int64_t parts, bool brief,
                      Trial *out) {
  Entry *e = r->m->entries.at[k], before = *e;
  Trial *all = ARENA_ARRAY(r->scratch, Trial, r->m->entries.n);
  if (parts > 1) apply_microbatch(r, e, batch_of(r->scratch, e), parts);
  bool ok = brief ? trial_brief(r, limit, all) : trial_run(r, limit, all);
  *e = before;
  *out = all[k];
  return ok;
}

/* Where parts do not fit as they are, either: so many parts, or the whole, 1? By a brief search,
   and where that comes near the limit by a whole one of what comes nearer, and then of the other.
 */
static bool compare(PassRun *r, uint32_t k, uint64_t limit, int64_t *parts) {
  enum { NEAR = 2 };
  Trial was, now;
  if (!try_parts(r, k, limit, 1, true, &was) || !try_parts(r, k, limit, *parts, true, &now))
    return false;
  bool cut_first = trial_is_better(&now, &was, limit);
  int64_t first = cut_first ? *parts : 1, second = cut_first ? 1 : *parts;
  const Trial *best = cut_first ? &now : &was;
  *parts = first;
  if (best->arena <= limit || best->arena / NEAR > limit) return true;
  if (!try_parts(r, k, limit, first, false, &was)) return false;
  if (was.arena <= limit) return true;
  if (!try_parts(r, k, limit, second, false, &now)) return false;
  if (trial_is_better(&now, &was, limit)) *parts = second;
  return true;
}

static bool under_limit(PassRun *r, uint32_t k, uint64_t limit, const Trial *whole) {
  Entry *e = r->m->entries.at[k];
  Trial best;
  int64_t parts;
  bool cheap = false;
  if (whole->arena <= limit) return true;
  int64_t batch = batch_of(r->scratch, e);
  if (has_no_parts(e, batch)) tell_no_parts(r, e, batch);
  if (!choose_parts(r, k, limit, whole, &best, &parts)) return false;
  if (parts == 1) report_vain(r, e, batch);
  if (parts == 1) return true;
  if (best.arena <= limit && !whole_is_cheap(r, k, limit, &cheap)) return false;
  if (best.arena > limit && !compare(r, k, limit, &parts)) return false;
  if (!cheap && parts == 1) report_vain(r, e, batch);
  if (cheap || parts == 1) return true;
  report_microbatch(r, e, batch_of(r->scratch, e), parts);
  apply_microbatch(r, e, batch_of(r->scratch, e), parts);
  return true;
}

/* The curve of the program with the parts that take the fewest bytes, which it then is no more. */
static bool curve_of(PassRun *r, const Trial *whole) {
  const Module *m = r->m;
  Entry *before = ARENA_ARRAY(r->scratch, Entry, m->entries.n);
  bool any = false, ok = true;
  for (uint32_t k = 0; k < m->entries.n; k++) before[k] = *m->entries.at[k];
  for (uint32_t k = 0; ok && k < m->entries.n; k++) {
    Entry *e = m->entries.at[k];
    Trial best;
    int64_t parts;
    ok = choose_parts(r, k, 0, &whole[k], &best, &parts);
    if (!ok || parts == 1) continue;
    apply_microbatch(r, e, batch_of(r->scratch, e), parts);
    any = true;
  }
  ok = ok && (!any || trial_curve(r));
  for (uint32_t k = 0; k < m->entries.n; k++) *m->entries.at[k] = before[k];
  return ok;
}

static bool any_entry(PassRun *r) {
  for (uint32_t k = 0; k < r->m->entries.n; k++) {
    const Entry *e = r->m->entries.at[k];
    int64_t batch = batch_of(r->scratch, e);
    if (has_no_parts(e, batch) || find_choices(r->scratch, e, batch, scatters(r)).n) return true;
  }
  return false;
}

bool pass_microbatch(PassRun *r) {
  int64_t parts = pass_arg_int(r, "parts", 0);
  const MemoryLimit *l = &r->opt->limit;
  uint32_t n = r->m->entries.n;
  for (uint32_t k = 0; parts > 1 && k < n; k++) {
    Entry *e = r->m->entries.at[k];
    int64_t batch = batch_of(r->scratch, e);
    if (!can_cut(e, batch, parts)) continue;
    report_microbatch(r, e, batch, parts);
    apply_microbatch(r, e, batch, parts);
  }
  const bool limited = l->bytes || l->share > 0;
  if (parts > 1 || r->opt->trial || (!limited && !r->opt->curve)) return true;
  if (!any_entry(r)) {
    for (uint32_t k = 0; limited && k < n; k++)
      report_vain(r, r->m->entries.at[k], batch_of(r->scratch, r->m->entries.at[k]));
    return true;
  }
  Trial *whole = ARENA_ARRAY(r->scratch, Trial, n);
  uint64_t limit;
  if (!trial_run(r, 0, whole)) return false;
  if (r->opt->curve && (!(!limited || trial_curve(r)) || !curve_of(r, whole))) return false;
  if (!limited) return true;
  if (!trial_limit(r, &limit)) return false;
  for (uint32_t k = 0; k < n; k++)
    if (!under_limit(r, k, limit, &whole[k])) return false;
  return true;
}
