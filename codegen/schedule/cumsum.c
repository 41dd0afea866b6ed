/* The schedules of cumulative sums; see cumsum.h. */
#include "codegen/schedule/cumsum.h"

CumsumSchedule cumsum_schedule(const CumsumShape *s) {
  enum {
    LINES = 64,                    /* of a unit, at most */
    SIDE = 8,                      /* sums at a time that hide the latency of an addition */
    FEW = 16,                      /* units of which threads would get one or none */
    SPLIT_MOVES = 4 * SERIAL_MOVES /* elements that pay for two more launches */
  };
  CumsumSchedule c = {.outer = s->outer, .elements = s->elements, .inner = s->inner, .side = 1};
  c.lines = s->inner < LINES ? s->inner : LINES;
  c.blocks = c.lines ? ceil_div(s->inner, c.lines) : 0;
  const int64_t all = s->outer * s->inner * s->elements, units = s->outer * c.blocks;
  c.split = all >= SPLIT_MOVES && units < FEW && cumsum_groups(s->elements) > 1;
  while (c.split && c.side * c.lines < SIDE) c.side *= 2;
  c.units = c.split ? units * cumsum_groups(s->elements) : all < SERIAL_WORK ? 1 : units;
  return c;
}

#define FIELD(f) SCHEDULE_FIELD(CumsumSchedule, f)
const ScheduleKind cumsum_kind = {
    "cumsum",
    (const ScheduleField[]){
        FIELD(outer), FIELD(elements), FIELD(inner), FIELD(lines), FIELD(side), FIELD(split), {0}}};
#undef FIELD

GridCumsumSchedule grid_cumsum_schedule(const GridMachine *m, const CumsumShape *s, int size) {
  /* chosen by count, not measured on a device */
  enum {
    MOST = 2048, /* elements of a line in a tile: as many f64 fit */
    SECTOR = 8,  /* lines that share an access to memory: 32 bytes of f32 */
    MOST_THREADS = 1024,
    LONG = 4 /* chunks of a line that take longer in turn than two more launches */
  };
  const int64_t chunks = cumsum_chunks(s->elements);
  int64_t lines = s->outer * s->inner;
  GridCumsumSchedule c = {.outer = s->outer, .elements = s->elements, .inner = s->inner};
  c.split = chunks > LONG && ceil_div(lines, SECTOR) < m->blocks;
  if (c.split) {
    lines *= chunks;
    c.scratch = (uint64_t)(lines * size);
    c.group_threads = m->warp;
    while (c.group_threads < MOST_THREADS && c.group_threads < cumsum_groups(s->elements))
      c.group_threads *= 2;
  }
  c.along = c.split ? s->inner == 1 : s->inner < m->warp;
  c.width = lines < m->warp ? (int)lines : m->warp;
  if (c.width < 1) c.width = 1;
  const int least = c.along ? 1 : SECTOR;
  while (c.width > least && lines / c.width < m->blocks) c.width /= 2;
  if (c.split && s->inner < m->warp) /* of whole rows of lines, which lie side by side */
    c.width = c.width < s->inner ? (int)s->inner : c.width / (int)s->inner * (int)s->inner;
  c.depth =
      grid_tile_depth(MOST, s->elements < SCAN_CHUNK ? s->elements : SCAN_CHUNK, c.width, size);
  c.threads = m->block;
  c.blocks = lines && s->elements ? ceil_div(lines, c.width) : 1;
  return c;
}

#define FIELD(f) SCHEDULE_FIELD(GridCumsumSchedule, f)
const ScheduleKind grid_cumsum_kind = {"cumsum", (const ScheduleField[]){FIELD(outer),
                                                                         FIELD(elements),
                                                                         FIELD(inner),
                                                                         FIELD(split),
                                                                         FIELD(along),
                                                                         FIELD(width),
                                                                         FIELD(depth),
                                                                         {0}}};
#undef FIELD
