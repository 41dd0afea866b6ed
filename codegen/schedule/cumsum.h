/* The schedule of cumulative sums along lines on a device. */
#ifndef GC_CODEGEN_SCHEDULE_CUMSUM_H
#define GC_CODEGEN_SCHEDULE_CUMSUM_H
#include "codegen/schedule/schedule.h"

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
#endif
