/* --bench N: the time of a step, median and least, on one batch that stays.
   Contract: writes no file; the batch is the first of the files, with the extents that it has
   there; it is gathered again before each step, outside of what is timed, and copied to a GPU
   within it; a GPU's steps are queued one ahead, as in training; medians are of the first 32,768
   steps. */
#include "runtime/program/command.h"
#include "runtime/program/devices.h"
#include <inttypes.h>
#include <stdlib.h>

enum { SAMPLES = STAGE_BYTES / 8, WARM = 3 };

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The arithmetic of a step is known at the bounds of all extents. */
static bool at_bounds(const GcEntry *e, const int32_t *extents) {
  for (int i = 0; i < e->nextents; i++)
    if (extents[i] != e->extents[i].bound) return false;
  return true;
}

int bench_run(Command *cmd) {
  const GcEntry *e = cmd->entry;
  double *samples = (double *)(void *)cmd->session.stage;
  uint64_t n = cmd->options.count[OPT_BENCH], kept = 0;
  if (cmd->data.n) dataset_extents(&cmd->data, 0, cmd->session.env.extents);
  for (uint64_t i = 0; i < n + WARM && !command_signal(cmd); i++) {
    if (cmd->data.n && (cmd->session.device->ops->on_host || i == 0))
      session_fill(&cmd->session, cmd->session.entries[0], 0);
    cmd->session.env.step = cmd->session.step && e->training ? (uint64_t)*cmd->session.step : i;
    const RunRequest q = {.batch = NO_BATCH, .more = i + 1 < n + WARM, .next = NO_BATCH};
    double from = clock_now();
    bool ok = command_step(cmd, &q, cmd->data.n ? 0 : NO_BATCH);
    double to = clock_now();
    if (!ok) return cmd->err.code;
    if (i >= WARM && kept < SAMPLES) samples[kept++] = to - from;
  }
  if (!kept) return 128 + command_signal(cmd);
  qsort(samples, kept, sizeof *samples, compare);
  double median = samples[kept / 2], least = samples[0];
  char where[160];
  cmd->session.device->ops->describe(&cmd->session, where, sizeof where);
  const char *level = program_level_name(cmd->session.device->program);
  char rate[64] = "";
  if (median > 0 && at_bounds(e, cmd->session.env.extents))
    snprintf(rate, sizeof rate, "%.2f Gflop/s at the median; ", (double)e->flops / median * 1e-9);
  printf("%s: median %.2f us, least %.2f us a step; %s%s%s%s, %" PRIu64 " steps\n", e->name,
         median * 1e6, least * 1e6, rate, level ? level : "", level ? ", " : "", where, n);
  return command_signal(cmd) ? 128 + command_signal(cmd) : 0;
}
