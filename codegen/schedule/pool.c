/* Schedules of pools; see window.h. Taps are written out while they are few, so that a kernel's
   text stays short whatever the window. */
#include "codegen/schedule/window.h"

enum {
  BLOCK = 64, /* channels */
  /* Taps written out, in all texts of a kernel: their number grows with the fourth power of a
     window's side, or with its square where rows are a loop. */
  MOST_TAPS = 64,
  MOST_COLUMN_TAPS = 256
};

static int64_t spans_taps(const Phase *span, int n) {
  int64_t taps = 0;
  for (int i = 0; i < n; i++) taps += span[i].ntaps;
  return taps;
}

PoolSchedule pool_schedule(Arena *a, const WindowAxis *h, const WindowAxis *w, bool back,
                           int64_t channels, int64_t rows, bool bounded, uint64_t flops) {
  PoolSchedule p = {.channels = channels, .all_units = rows};
  int64_t blocks = ceil_div(channels, BLOCK);
  p.block = blocks ? (int)ceil_div(channels, blocks) : 1; /* about as wide, all of them */
  if (blocks > 1) p.block = (p.block + POOL_CELL - 1) / POOL_CELL * POOL_CELL;
  p.row = window_spans(a, h, back, &p.nrows);
  p.column = window_spans(a, w, back, &p.ncolumns);
  int64_t columns = spans_taps(p.column, p.ncolumns);
  const bool few = spans_taps(p.row, p.nrows) * columns <= MOST_TAPS;
  p.taps = few && (!bounded || window_least_whole(h, back)) ? TAPS_UNROLLED
           : columns <= MOST_COLUMN_TAPS                    ? TAPS_BY_COLUMN
                                                            : TAPS_IN_LOOPS;
  p.units = flops < SERIAL_WORK ? 1 : rows;
  return p;
}

#define FIELD(f) SCHEDULE_FIELD(PoolSchedule, f)
static const char *const taps[] = {
    [TAPS_UNROLLED] = "unrolled", [TAPS_BY_COLUMN] = "by-column", [TAPS_IN_LOOPS] = "loops"};
const ScheduleKind pool_kind = {"pool",
                                (const ScheduleField[]){FIELD(channels),
                                                        FIELD(block),
                                                        SCHEDULE_ENUM(PoolSchedule, taps, taps),
                                                        FIELD(nrows),
                                                        FIELD(ncolumns),
                                                        {0}}};
