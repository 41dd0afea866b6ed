/* The schedule of a sort on a device; see sort.h. */
#include "codegen/schedule/sort.h"

GridSortSchedule grid_sort_schedule(const GridMachine *m, int64_t rows, int64_t elements) {
  /* Elements of a tile: their keys and two orders are in shared memory, 16 bytes each at most, of
     48 KiB that a kernel has without asking. */
  enum { MOST = 2048 };
  GridSortSchedule s = {.rows = rows, .elements = elements, .tile = m->warp};
  while (s.tile < MOST && s.tile < elements) s.tile *= 2;
  s.tiles = ceil_div(elements, s.tile);
  for (int64_t run = s.tile; run < elements; run *= 2) s.merges++;
  s.threads = s.tile < m->block ? s.tile : m->block;
  s.blocks = rows && elements ? rows * s.tiles : 1;
  return s;
}

#define FIELD(f) SCHEDULE_FIELD(GridSortSchedule, f)
const ScheduleKind grid_sort_kind = {
    "sort", (const ScheduleField[]){FIELD(rows), FIELD(elements), FIELD(tile), FIELD(merges), {0}}};
#undef FIELD
