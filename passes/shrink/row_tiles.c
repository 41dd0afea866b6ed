/* Tiles of rows: the loss of a large vocabulary is a product of many rows, each as wide as the
   vocabulary, and only a number and a few gradients are left of it. Under a byte limit the product
   and all ops on its rows become a loop over chunks of rows, forward and backward at once, so that
   neither the product nor its gradient is ever whole. Contract: runs before fusion and layouts.
   Does nothing without a limit. The rest of the pipeline is run on a copy with and without each
   loop, and the bytes of the arena decide. A chunk has as many rows as a chain of a product, so f32
   results stay the same to the last bit. With `rows` every such product is done so many rows at a
   time, whatever it saves. */
#include "passes/shrink/row_tiles_impl.h"

#include <stdlib.h>

enum { SMALL = 16 }; /* a product of less than 1 / SMALL of the arena is not looked at */

/* ---- products ---- */

static void tell_why_not(PassRun *r, const Entry *e, const Region *g) {
  char buf[32];
  const Op *op = g->root;
  remarks_of(r, e);
  const char *name = value_str(e, op->results[0]);
  plan_commas(buf, value_type(e, op->results[0])->bytes);
  if (!g->what)
    remark(r, REMARK_REMAT, "remat-missed", op->loc,
           "%s (%s) is whole: it is done %lld rows at a time, and has %lld", name, buf,
           (long long)g->chunk, (long long)g->rows);
  else
    remark(r, REMARK_REMAT, "remat-missed", op->loc, "%s (%s) is whole: %s at %s reads all of it",
           name, buf, plan_op_name(g->what), loc_str(r->m->ctx, g->what->loc));
}

/* The largest product of the entry that can be a loop, of at least so many bytes; false if there is
   none. Tells of those that cannot. */
static bool find_product(PassRun *r, Region *best, const Entry *e, int64_t chunk, uint64_t min,
                         bool report) {
  uint64_t max = 0;
  *best = (Region){0};
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    if (op->kind != OP_MATMUL) continue;
    uint64_t bytes = value_type(e, op->results[0])->bytes;
    if (bytes < min || bytes <= max) continue;
    Region g;
    bool found = region_find(&g, e, op, chunk), even = found && g.rows % chunk == 0;
    if (report && (g.what || (found && !even))) tell_why_not(r, e, &g);
    if (even) {
      region_free(best);
      *best = g;
      max = bytes;
    } else {
      region_free(&g);
    }
  }
  return max > 0;
}

static void tell_loop(PassRun *r, const Region *g) {
  const Op *op = g->root;
  char buf[32];
  remarks_of(r, g->e);
  remark(r, REMARK_REMAT, "remat", op->loc,
         "%s is computed in %lld chunks of %lld rows: %s bytes are never whole",
         value_str(g->e, op->results[0]), (long long)(g->rows / g->chunk), (long long)g->chunk,
         plan_commas(buf, value_type(g->e, op->results[0])->bytes));
}

/* All of them, as the argument of the pass says. */
static void chunk_all(PassRun *r, Entry *e, int64_t chunk) {
  Region g;
  while (find_product(r, &g, e, chunk, 0, false)) {
    tell_loop(r, &g);
    region_to_loop(&g, e);
    region_free(&g);
    r->changes++;
  }
}

/* ---- under a limit ---- */

/* A product that may be worth a look. */
static bool any_product(const Module *m) {
  for (uint32_t k = 0; k < m->entries.n; k++) {
    const Entry *e = m->entries.at[k];
    for (uint32_t i = 0; i < e->body->ops.n; i++) {
      const Op *op = op_at(e, e->body->ops.at[i]);
      Region g;
      bool found = op->kind == OP_MATMUL && region_find(&g, e, op, SUM_CHAIN);
      if (op->kind == OP_MATMUL) region_free(&g);
      if (found) return true;
    }
  }
  return false;
}

/* One after the other, the largest first, as long as the arena gets smaller. */
static bool chunk_entry(PassRun *r, uint32_t k, uint64_t limit, Trial *now) {
  Entry *e = r->m->entries.at[k];
  Region g;
  bool ok = true, less = true;
  for (bool report = true; ok && less && now[k].arena > limit; report = false) {
    uint64_t bytes = now[k].arena;
    if (!find_product(r, &g, e, SUM_CHAIN, bytes / SMALL, report)) break;
    Entry before = *e;
    region_to_loop(&g, e);
    ok = trial_run(r, 0, now);
    less = now[k].arena < bytes;
    g.e = &before;
    if (ok && less) {
      tell_loop(r, &g);
      r->changes++;
    } else {
      *e = before;
    }
    region_free(&g);
  }
  return ok;
}

/* The curves of the program with one product after the other as a loop, which it then has no more.
 */
static bool chunk_curve(PassRun *r) {
  uint32_t n = r->m->entries.n;
  Trial *now = ARENA_ARRAY(r->scratch, Trial, n);
  bool limited = r->opt->limit.bytes || r->opt->limit.share > 0; /* the program will be another */
  bool ok = trial_run(r, 0, now) && (!limited || trial_curve(r));
  for (uint32_t k = 0; ok && k < n; k++) {
    Entry *e = r->m->entries.at[k], whole = *e;
    Region g;
    for (uint64_t bytes = now[k].arena;
         ok && find_product(r, &g, e, SUM_CHAIN, bytes / SMALL, false);) {
      region_to_loop(&g, e);
      region_free(&g);
      ok = trial_run(r, 0, now);
      if (!ok || now[k].arena >= bytes) break;
      bytes = now[k].arena;
      ok = trial_curve(r);
    }
    *e = whole;
  }
  return ok;
}

bool pass_row_tiles(PassRun *r) {
  int64_t rows = pass_arg_int(r, "rows", 0);
  const MemoryLimit *l = &r->opt->limit;
  uint32_t n = r->m->entries.n;
  bool curve = r->opt->curve && rows == 0 && any_product(r->m);
  if (curve && !chunk_curve(r)) return false;
  for (uint32_t k = 0; rows > 0 && k < n; k++) chunk_all(r, r->m->entries.at[k], rows);
  if (rows > 0 || (!l->bytes && l->share <= 0) || !any_product(r->m)) return true;
  uint64_t limit;
  Trial *whole = ARENA_ARRAY(r->scratch, Trial, n), *now = ARENA_ARRAY(r->scratch, Trial, n);
  if (!trial_limit(r, &limit) || !trial_run(r, 0, whole)) return false;
  for (uint32_t k = 0; k < n; k++) {
    memcpy(now, whole, n * sizeof *now);
    if (!chunk_entry(r, k, limit, now)) return false;
  }
  return true;
}
