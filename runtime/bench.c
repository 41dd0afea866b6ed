/* --bench N: the time of a step, median and least, on one batch that stays.
   Contract: writes no file; the batch is gathered again before each step, outside of what is timed;
   medians are of the first 32,768 steps. */
#include "run.h"
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
    if (r->data.n) dataset_gather(&r->data, r->mem.region[GC_INPUTS], 0, 0, 1);
    r->env.step = r->step && e->training ? (uint64_t)*r->step : i;
    double from = clock_now();
    exec_run(r, &r->entry, NO_BATCH);
    double to = clock_now();
    if (exec_fault(r, e, r->data.n ? 0 : NO_BATCH)) return r->err.code;
    if (i >= WARM && kept < SAMPLES) samples[kept++] = to - from;
  }
  if (!kept) return 128 + signal_seen();
  qsort(samples, kept, sizeof *samples, compare);
  double median = samples[kept / 2], least = samples[0];
  printf(
      "%s: median %.2f us, least %.2f us a step; %.2f Gflop/s at the median; %d thread%s, %" PRIu64
      " steps\n",
      e->name, median * 1e6, least * 1e6, median > 0 ? (double)e->flops / median * 1e-9 : 0,
      team_size(r->team), team_size(r->team) == 1 ? "" : "s", n);
  return signal_seen() ? 128 + signal_seen() : 0;
}
