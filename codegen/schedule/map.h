/* Schedules of element-wise loops: which loop threads share, and how many elements a thread of a
   device takes at once. */
#ifndef GC_CODEGEN_SCHEDULE_MAP_H
#define GC_CODEGEN_SCHEDULE_MAP_H
#include "codegen/schedule/schedule.h"

enum { MAP_BLOCK = 64 }; /* elements of a unit, where units are not rows */

typedef struct MapShape {
  int64_t outer,
      inner; /* elements around the innermost loop, and of it; outer 1: there is no other */
  int64_t work;
} MapShape;

typedef enum MapSplit { MAP_SERIAL, MAP_ELEMENTS, MAP_ROWS, MAP_COLUMNS } MapSplit;

typedef struct MapSchedule {
  int64_t outer, inner;
  MapSplit split; /* threads share the elements of the one loop, rows, or columns of few rows */
  int64_t units;
} MapSchedule;

/* one_loop: there is no outer loop at all. */
MapSchedule map_schedule(const MapShape *s, bool one_loop);
extern const ScheduleKind map_kind;

typedef struct GridMapSchedule {
  int64_t elements;
  int width; /* elements of a thread: one vector */
  int64_t threads;
  int tile; /* rows and columns of what a block does where operands lie transposed; 0: threads do
               not depend on each other */
} GridMapSchedule;

GridMapSchedule grid_map_schedule(int64_t elements, int width);
extern const ScheduleKind grid_map_kind;

/* How often a loop over elements is unrolled, at most `most` times: less for bodies with expensive
   functions, whose registers would spill. */
int grid_unroll(int functions, int most);
/* The widest vector, in accesses of 16 bytes at most, for a loop of n elements of which the largest
   has `size` bytes. */
int grid_width(int functions, int size, int64_t n);
#endif
