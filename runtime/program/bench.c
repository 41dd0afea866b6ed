/* --bench N: the time of a step, median and least, on one batch that stays.
   Contract: writes no file; the batch is gathered again before each step, outside of what is timed,
   and copied to a GPU within it; a GPU's steps are queued one ahead, as in training; medians are of
   the first 32,768 steps. */
#include "runtime/program/command.h"
#include "runtime/program/devices.h"
#include <inttypes.h>
#include <stdlib.h>

enum { SAMPLES = STAGE_BYTES / 8, WARM = 3 };

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int bench_run(Command *cmd) {
  const GcEntry *e = cmd->entry;
  double *samples = (double *)(void *)cmd->session.stage;
  uint64_t n = cmd->options.count[OPT_BENCH], kept = 0;
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
  printf("%s: median %.2f us, least %.2f us a step; %.2f Gflop/s at the median; %s%s%s, %" PRIu64
         " steps\n",
         e->name, median * 1e6, least * 1e6, median > 0 ? (double)e->flops / median * 1e-9 : 0,
         level ? level : "", level ? ", " : "", where, n);
  return command_signal(cmd) ? 128 + command_signal(cmd) : 0;
}
