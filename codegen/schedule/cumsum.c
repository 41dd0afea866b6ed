/* The schedule of cumulative sums on a device; see cumsum.h. */
#include "codegen/schedule/cumsum.h"

GridCumsumSchedule grid_cumsum_schedule(const GridMachine *m, int64_t lines, int64_t elements,
                                        int64_t inner, int size) {
  /* bytes of shared memory; elements of a line in it; lines that a thread's neighbours share an
     access with */
  enum { ROOM = 17 << 10, MOST = 2048, SECTOR = 8 };
  GridCumsumSchedule s = {.lines = lines, .elements = elements, .along = inner < m->warp};
  s.width = lines < m->warp ? (int)lines : m->warp;
  if (s.width < 1) s.width = 1;
  while (s.width > (s.along ? 1 : SECTOR) && lines / s.width < m->blocks) s.width /= 2;
  s.depth = MOST;
  while (s.depth > 1 && (s.depth / 2 >= elements || s.depth * (s.width | 1) * size > ROOM))
    s.depth /= 2;
  s.threads = m->block;
  s.blocks = lines && elements ? ceil_div(lines, s.width) : 1;
  return s;
}

#define FIELD(f) SCHEDULE_FIELD(GridCumsumSchedule, f)
const ScheduleKind grid_cumsum_kind = {
    "cumsum", (const ScheduleField[]){
                  FIELD(lines), FIELD(elements), FIELD(along), FIELD(width), FIELD(depth), {0}}};
#undef FIELD
