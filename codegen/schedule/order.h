/* Schedules of what goes in order on a device: sorts along rows, running sums along lines, and sums
   of the rows that an index names. */
#ifndef GC_CODEGEN_SCHEDULE_ORDER_H
#define GC_CODEGEN_SCHEDULE_ORDER_H
#include "codegen/schedule/schedule.h"

/* A block sorts a tile of a row in shared memory; each further launch merges runs of twice the
   length, one thread for each element. */
typedef struct GridSortSchedule {
  int64_t rows, elements; /* of a row */
  int tile;               /* elements, a power of two */
  int64_t tiles;          /* of a row */
  int merges;             /* launches behind the first */
  int threads;
  int64_t blocks; /* of the first launch */
} GridSortSchedule;

GridSortSchedule grid_sort_schedule(const GridMachine *m, int64_t rows, int64_t elements);
extern const ScheduleKind grid_sort_kind;

/* A block does `width` lines: all its threads bring a tile of them into shared memory and back, one
   thread for each line adds it up. */
typedef struct GridCumsumSchedule {
  int64_t lines, elements; /* of a line */
  bool along;              /* neighbouring threads go along a line rather than from line to line */
  int width, depth;        /* lines of a block, elements of each in a tile */
  int threads;
  int64_t blocks;
} GridCumsumSchedule;

/* inner: lines whose elements lie side by side; size: bytes of a sum. */
GridCumsumSchedule grid_cumsum_schedule(const GridMachine *m, int64_t lines, int64_t elements,
                                        int64_t inner, int size);
extern const ScheduleKind grid_cumsum_kind;

typedef struct GridScatterShape {
  int64_t tables, ids; /* ids of a table */
  int64_t rows, row;   /* rows of a table, elements of a row */
} GridScatterShape;

/* Where there are many ids they are sorted first, so that a row of the table has its own side by
   side; of few ids a warp looks through all of them. */
typedef struct GridScatterSchedule {
  int64_t tables, ids, rows, row;
  bool sorted;
  GridSortSchedule sort;
  uint64_t order,
      starts;       /* bytes of scratch: of one of two orders; of where each row's ids begin */
  uint64_t scratch; /* bytes, of all of it */
} GridScatterSchedule;

GridScatterSchedule grid_scatter_schedule(const GridMachine *m, const GridScatterShape *s);
extern const ScheduleKind grid_scatter_kind;
#endif
