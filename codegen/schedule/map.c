/* Schedules of element-wise loops; see map.h. */
#include "codegen/schedule/map.h"

enum { MIN_OUTER = 32 }; /* rows that make a division worth while */

MapSchedule map_schedule(const MapShape *s, bool one_loop) {
  MapSchedule m = {.outer = s->outer, .inner = s->inner, .split = MAP_SERIAL, .units = 1};
  if (s->work < SERIAL_WORK) return m;
  int64_t blocks = ceil_div(s->inner, MAP_BLOCK);
  m.split = one_loop                                                  ? MAP_ELEMENTS
            : s->outer < MIN_OUTER && s->inner / MAP_BLOCK > s->outer ? MAP_COLUMNS
                                                                      : MAP_ROWS;
  m.units = m.split == MAP_ROWS ? s->outer : blocks;
  return m;
}

#define FIELD(f) SCHEDULE_FIELD(MapSchedule, f)
static const char *const splits[] = {[MAP_SERIAL] = "none",
                                     [MAP_ELEMENTS] = "elements",
                                     [MAP_ROWS] = "rows",
                                     [MAP_COLUMNS] = "columns"};
const ScheduleKind map_kind = {
    "map", (const ScheduleField[]){
               FIELD(outer), FIELD(inner), SCHEDULE_ENUM(MapSchedule, split, splits), {0}}};
#undef FIELD

GridMapSchedule grid_map_schedule(int64_t elements, int width) {
  return (GridMapSchedule){.elements = elements, .width = width, .threads = elements / width};
}

#define FIELD(f) SCHEDULE_FIELD(GridMapSchedule, f)
const ScheduleKind grid_map_kind = {
    "map", (const ScheduleField[]){FIELD(elements), FIELD(width), FIELD(tile), {0}}};

int grid_unroll(int functions, int most) {
  /* In one body: with more of them registers would spill and the text grow long. Chosen by count,
     not measured on a device. */
  enum { MOST_FUNCTIONS = 16 };
  while (most > 1 && most * functions > MOST_FUNCTIONS) most /= 2;
  return most;
}

int grid_width(int functions, int size, int64_t n) {
  int v = grid_unroll(functions, size == 1 ? 8 : 16 / size);
  while (v > 1 && n % v) v /= 2;
  return v;
}
