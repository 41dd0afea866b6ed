/* The schedules of scattered sums: rows of a table that an index names. */
#ifndef GC_CODEGEN_SCHEDULE_SCATTER_H
#define GC_CODEGEN_SCHEDULE_SCATTER_H
#include "codegen/schedule/sort.h"

/* On a CPU: a unit is a row of the only table, and each thread looks through all ids for its own;
   or a unit is a run of rows, and ids are sorted by runs first, chunk by chunk, for many threads.
 */
typedef struct ScatterSchedule {
  int64_t ids, rows, row; /* elements of a row */
  int64_t runs;           /* of 1 << shift rows; 0: ids are not sorted */
  int shift;
  int64_t chunk; /* ids of one */
} ScatterSchedule;

enum { SORTING_THREADS = 8 }; /* fewer look through all ids in any case */
ScatterSchedule scatter_schedule(int64_t ids, int64_t rows, int64_t row);
/* Bytes of the order of ids, and of where each run ends in each chunk. */
uint64_t scatter_scratch(const ScatterSchedule *s);
double scatter_balance(const void *schedule, int threads); /* as Kernel's */
extern const ScheduleKind scatter_kind;

typedef struct GridScatterShape {
  int64_t tables, ids; /* ids of a table */
  int64_t rows, row;   /* rows of a table, elements of a row */
} GridScatterShape;

/* Where there are many ids they are sorted first, so that a row of the table has its own side by
   side; of few ids a warp looks through all of them. */
typedef struct GridScatterSchedule {
  int64_t tables, ids, rows, row;
  bool sorted;
  int width; /* then: elements of a row that a thread adds, equally far from each other */
  GridSortSchedule sort;
  uint64_t order,
      starts;       /* bytes of scratch: of one of two orders; of where each row's ids begin */
  uint64_t scratch; /* bytes, of all of it */
} GridScatterSchedule;

GridScatterSchedule grid_scatter_schedule(const GridMachine *m, const GridScatterShape *s);
extern const ScheduleKind grid_scatter_kind;
#endif
