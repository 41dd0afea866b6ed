/* Schedules of the gradient by the filters of a convolution with a filter for each channel: a unit
   is a block of channels and a group of taps, as many as registers can sum at once; see window.h.
 */
#include "codegen/schedule/window.h"

enum { FEW = 4 }; /* units that threads are to find, where filter rows can be divided */

DepthwiseSchedule depthwise_schedule(const VectorMachine *m, const ConvGeom *c, uint64_t flops) {
  int64_t most = tile_sums(m), r = c->h.taps, s = c->w.taps;
  DepthwiseSchedule d = {.channels = c->cout, .blocks = ceil_div(c->cout, DEPTHWISE_BLOCK)};
  d.columns = s < most ? s : most;
  d.rows = s < most ? most / s : 1;
  if (d.rows > r) d.rows = r;
  d.column_groups = ceil_div(s, d.columns);
  for (;;) {
    d.row_groups = ceil_div(r, d.rows);
    if (d.rows == 1 || d.blocks * d.row_groups * d.column_groups >= FEW) break;
    d.rows = (d.rows + 1) / 2;
  }
  d.all_units = d.blocks * d.row_groups * d.column_groups;
  d.units = flops < SERIAL_WORK ? 1 : d.all_units;
  return d;
}

#define FIELD(f) SCHEDULE_FIELD(DepthwiseSchedule, f)
const ScheduleKind depthwise_kind = {"depthwise", (const ScheduleField[]){FIELD(channels),
                                                                          FIELD(blocks),
                                                                          FIELD(rows),
                                                                          FIELD(columns),
                                                                          FIELD(row_groups),
                                                                          FIELD(column_groups),
                                                                          {0}}};
