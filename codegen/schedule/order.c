/* Schedules of what goes in order on a device; see order.h. */
#include "codegen/schedule/order.h"

GridSortSchedule grid_sort_schedule(const GridMachine *m, int64_t rows, int64_t elements) {
  enum { MOST = 2048 }; /* elements of a tile: their keys and two orders are in shared memory */
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

GridScatterSchedule grid_scatter_schedule(const GridMachine *m, const GridScatterShape *s) {
  enum { FEW = 512 }; /* ids that a warp looks through sooner than they are sorted */
  GridScatterSchedule r = {.tables = s->tables, .ids = s->ids, .rows = s->rows, .row = s->row};
  r.sorted = s->ids > FEW && s->tables * s->rows * s->row > 0;
  if (!r.sorted) return r;
  r.sort = grid_sort_schedule(m, s->tables, s->ids);
  r.order = (uint64_t)(s->tables * s->ids) * sizeof(int32_t);
  r.starts = (uint64_t)(s->tables * (s->rows + 1)) * sizeof(int32_t);
  r.scratch = (r.sort.merges ? 2 : 1) * r.order + r.starts;
  return r;
}

#define FIELD(f) SCHEDULE_FIELD(GridScatterSchedule, f)
const ScheduleKind grid_scatter_kind = {
    "scatter", (const ScheduleField[]){
                   FIELD(tables), FIELD(ids), FIELD(rows), FIELD(row), FIELD(sorted), {0}}};
#undef FIELD
