/* The schedules of scattered sums; see scatter.h. */
#include "codegen/schedule/scatter.h"

/* Ids that pay for a launch that sorts them; of a chunk, as a rule more than there are runs; chunks
   for many threads. */
enum { MANY_IDS = 8192, CHUNK = 2048, CHUNKS = 128, LONGEST_CHUNK = 1 << 15, MOST_RUNS = 1024 };

/* Rows so long that looking at ids takes no time beside them are not sorted for, nor those of which
   the order and the ends would take more than a 64th of the bytes: they lie in the arena on any
   number of threads. */
ScatterSchedule scatter_schedule(int64_t ids, int64_t rows, int64_t row) {
  ScatterSchedule s = {.ids = ids, .rows = rows, .row = row};
  if (ids < MANY_IDS || rows < 2 || scatter_balance(&s, 64) >= 0.9) return s;
  ScatterSchedule sorted = s;
  while ((rows - 1) >> sorted.shift >= MOST_RUNS) sorted.shift++;
  sorted.runs = ((rows - 1) >> sorted.shift) + 1;
  sorted.chunk = ceil_div(ids, CHUNKS);
  if (sorted.chunk < CHUNK) sorted.chunk = CHUNK;
  if (sorted.chunk > LONGEST_CHUNK) sorted.chunk = LONGEST_CHUNK; /* places are 16 bits */
  const uint64_t bytes = (uint64_t)(ids + rows) * (uint64_t)row * sizeof(float);
  return scatter_scratch(&sorted) * 64 <= bytes ? sorted : s;
}

uint64_t scatter_scratch(const ScatterSchedule *s) {
  if (!s->runs) return 0;
  return (uint64_t)(s->ids + ceil_div(s->ids, s->chunk) * s->runs) * sizeof(uint16_t);
}

/* The ids fall evenly on the rows. Times in those of an element that is added or set to 0, 0.1 ns,
   measured with rows of 8 elements: to look at an id, and to begin with a row. */
double scatter_balance(const void *schedule, int threads) {
  enum { LOOK = 8, BEGIN = 40 };
  const ScatterSchedule *s = schedule;
  if (s->runs && threads >= SORTING_THREADS) return units_balance(s->runs, threads);
  const double ids = (double)s->ids, rows = (double)s->rows, row = (double)s->row;
  const double all = ids * (BEGIN + row) + rows * row;
  const double most = all * (double)ceil_div(s->rows, threads) / rows + ids * LOOK;
  return most > 0 ? all / threads / most : 1;
}

#define FIELD(f) SCHEDULE_FIELD(ScatterSchedule, f)
const ScheduleKind scatter_kind = {
    "scatter",
    (const ScheduleField[]){
        FIELD(ids), FIELD(rows), FIELD(row), FIELD(runs), FIELD(shift), FIELD(chunk), {0}}};
#undef FIELD

GridScatterSchedule grid_scatter_schedule(const GridMachine *m, const GridScatterShape *s) {
  /* Ids that a warp looks through sooner than they are sorted: 16 times 32 of them, where a sort
     has 9 merges with a barrier each, and another launch. A large table has so many warps that
     their instructions take longer than two launches more and the sort of so few. Chosen by count,
     not measured on a device. */
  enum { FEW = 512, WIDEST = 4, RESIDENT = 2048 /* threads of a multiprocessor */ };
  enum { WARP_THREADS = 32, LOOK = 10, ISSUED = 4, SORT = 20000 /* clocks */ };
  GridScatterSchedule r = {
      .tables = s->tables, .ids = s->ids, .rows = s->rows, .row = s->row, .width = 1};
  const double warps = (double)s->tables * (double)s->rows * (double)ceil_div(s->row, WARP_THREADS);
  const double looks = warps * (double)ceil_div(s->ids, WARP_THREADS) * LOOK / ISSUED / m->blocks;
  r.sorted = (s->ids > FEW || looks > SORT) && s->tables * s->rows * s->row > 0;
  if (!r.sorted) return r;
  /* A thread waits for three loads that follow from each other, however many elements it adds. */
  while (r.width < WIDEST && s->row % (2 * r.width) == 0 &&
         s->tables * s->rows * s->row / (2 * r.width) >= m->blocks * RESIDENT)
    r.width *= 2;
  r.sort = grid_sort_schedule(m, s->tables, s->ids);
  r.order = (uint64_t)(s->tables * s->ids) * sizeof(int32_t);
  r.starts = (uint64_t)(s->tables * (s->rows + 1)) * sizeof(int32_t);
  r.scratch = (r.sort.merges ? 2 : 1) * r.order + r.starts;
  return r;
}

#define FIELD(f) SCHEDULE_FIELD(GridScatterSchedule, f)
const ScheduleKind grid_scatter_kind = {
    "scatter",
    (const ScheduleField[]){
        FIELD(tables), FIELD(ids), FIELD(rows), FIELD(row), FIELD(sorted), FIELD(width), {0}}};
#undef FIELD
