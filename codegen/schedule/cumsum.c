/* The schedule of cumulative sums on a device; see cumsum.h. */
#include "codegen/schedule/cumsum.h"

GridCumsumSchedule grid_cumsum_schedule(const GridMachine *m, int64_t lines, int64_t elements,
                                        int64_t inner, int size) {
  /* chosen by count, not measured on a device */
  enum {
    MOST = 2048, /* elements of a line in a tile: as many f64 fit */
    SECTOR = 8   /* lines that share an access to memory: 32 bytes of f32 */
  };
  GridCumsumSchedule s = {.lines = lines, .elements = elements, .along = inner < m->warp};
  s.width = lines < m->warp ? (int)lines : m->warp;
  if (s.width < 1) s.width = 1;
  while (s.width > (s.along ? 1 : SECTOR) && lines / s.width < m->blocks) s.width /= 2;
  s.depth = grid_tile_depth(MOST, elements, s.width, size);
  s.threads = m->block;
  s.blocks = lines && elements ? ceil_div(lines, s.width) : 1;
  return s;
}

#define FIELD(f) SCHEDULE_FIELD(GridCumsumSchedule, f)
const ScheduleKind grid_cumsum_kind = {
    "cumsum", (const ScheduleField[]){
                  FIELD(lines), FIELD(elements), FIELD(along), FIELD(width), FIELD(depth), {0}}};
#undef FIELD
