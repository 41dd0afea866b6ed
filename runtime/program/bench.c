/* --bench N: the time of a step, median and least, on one batch that stays.
   Contract: writes no file; the batch is gathered again before each step, outside of what is timed,
   and copied to a GPU within it; a GPU's steps are queued one ahead, as in training; medians are of
   the first 32,768 steps. */
#include "runtime/exec/run.h"
#include <inttypes.h>
#include <stdlib.h>

enum { SAMPLES = STAGE_BYTES / 8, WARM = 3 };

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int bench_run(Run *r) {
  const GcEntry *e = r->entry.entry;
  double *samples = (double *)(void *)r->stage;
  uint64_t n = r->o.count[OPT_BENCH], kept = 0;
  for (uint64_t i = 0; i < n + WARM && !signal_seen(); i++) {
    if (r->data.n && (!r->cuda || i == 0)) exec_stay(r, 0);
    r->env.step = r->step && e->training ? (uint64_t)*r->step : i;
    r->more = i + 1 < n + WARM;
    r->next = NO_BATCH;
    double from = clock_now();
    exec_run(r, &r->entry, NO_BATCH);
    double to = clock_now();
    if (exec_fault(r, e, r->data.n ? 0 : NO_BATCH)) return r->err.code;
    if (i >= WARM && kept < SAMPLES) samples[kept++] = to - from;
  }
  if (!kept) return 128 + signal_seen();
  qsort(samples, kept, sizeof *samples, compare);
  double median = samples[kept / 2], least = samples[0];
  int threads = pool_size(r->pool);
  char where[160];
  if (r->cuda)
    snprintf(where, sizeof where, "%s", cuda_name(r->cuda));
  else
    snprintf(where, sizeof where, "%d thread%s", threads, threads == 1 ? "" : "s");
  printf("%s: median %.2f us, least %.2f us a step; %.2f Gflop/s at the median; %s, %" PRIu64
         " steps\n",
         e->name, median * 1e6, least * 1e6, median > 0 ? (double)e->flops / median * 1e-9 : 0,
         where, n);
  return signal_seen() ? 128 + signal_seen() : 0;
}
