/* The schedules of cumulative sums along lines. What a sum is made of depends on its place in the
   line alone, counted in the direction of the sums, on every target: the sum of the groups of
   SCAN_GROUP chunks in front of its own, plus that of the chunks of its group in front of its own,
   plus that of the SCAN_CHUNK elements of its chunk up to its own; each in order. So chunks can be
   summed at the same time, and of a line with one chunk a sum is that of all elements in order. */
#ifndef GC_CODEGEN_SCHEDULE_CUMSUM_H
#define GC_CODEGEN_SCHEDULE_CUMSUM_H
#include "codegen/schedule/schedule.h"

typedef struct CumsumShape {
  int64_t outer, elements, inner; /* lines around the axis; of a line; lines side by side */
} CumsumShape;

static inline int64_t cumsum_chunks(int64_t elements) { return ceil_div(elements, SCAN_CHUNK); }
static inline int64_t cumsum_groups(int64_t elements) {
  return ceil_div(elements, (int64_t)SCAN_CHUNK * SCAN_GROUP);
}

/* On the CPU, a unit does neighbouring lines, or a group of their chunks: then a second launch adds
   up what is in front of groups, and a third one writes the sums. */
typedef struct CumsumSchedule {
  int64_t outer, elements, inner;
  int64_t lines;  /* of a unit, at most */
  int64_t blocks; /* of lines side by side */
  int side;   /* chunks of few lines that are summed side by side, twice: no addition waits for the
                 one before it; 1: a unit goes through its lines once */
  bool split; /* groups are units */
  int64_t units;
} CumsumSchedule;

CumsumSchedule cumsum_schedule(const CumsumShape *s);
extern const ScheduleKind cumsum_kind;

/* On a device, a block does `width` lines: all its threads bring a tile of them into shared memory
   and back, one thread for each line adds it up. Of few long lines it does chunks in the same way:
   a first launch sums them, a second one what is in front of them, a third one writes the sums. */
typedef struct GridCumsumSchedule {
  int64_t outer, elements, inner;
  bool split;       /* chunks are lines of their own */
  bool along;       /* neighbouring threads go along a line rather than from line to line */
  int width, depth; /* lines of a block, elements of each in a tile */
  int threads;
  int group_threads; /* ... of a block of the second launch: one for each group of a line, at most
                      */
  int64_t blocks;
  uint64_t scratch; /* bytes */
} GridCumsumSchedule;

/* size: bytes of a sum. */
GridCumsumSchedule grid_cumsum_schedule(const GridMachine *m, const CumsumShape *s, int size);
extern const ScheduleKind grid_cumsum_kind;
#endif
