/* The schedule of a sort along rows on a device. */
#ifndef GC_CODEGEN_SCHEDULE_SORT_H
#define GC_CODEGEN_SCHEDULE_SORT_H
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
#endif
