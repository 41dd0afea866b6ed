/* Schedules of reductions: along rows, whose elements lie side by side, and along columns, whose
   neighbours do. The order of a sum depends on the shape alone: lanes and chunks of a row, chunks
   of a column. */
#ifndef GC_CODEGEN_SCHEDULE_REDUCE_H
#define GC_CODEGEN_SCHEDULE_REDUCE_H
#include "codegen/schedule/schedule.h"

/* ---- rows ---- */

typedef struct RowsShape {
  int64_t rows, elements; /* of a row */
  int64_t work;           /* operations on elements */
  bool independent; /* plain reductions: none, and no result of the full shape, needs another one */
  bool one_pass;    /* plain reductions, none of which needs another one; results may */
  bool one_search;  /* the same of plain reductions and those that find a place */
  bool may_wait;    /* of several passes: each may be launches of its own */
  int panels;       /* operands that lie in panels */
  bool full;        /* there are results of the full shape */
} RowsShape;

typedef struct RowsSchedule {
  int64_t rows, elements;
  bool lanes;     /* LANES elements side by side; else one by one */
  int64_t chunks; /* of a row */
  bool split;     /* chunks are units, and a second launch combines their partial results */
  bool passes;    /* ... pass by pass */
  bool apply;     /* ... and results of the full shape wait for these: a launch of their own */
  bool copied;    /* ... which first copy their part of the operands that lie in panels */
  int64_t units;
} RowsSchedule;

RowsSchedule rows_schedule(const RowsShape *s);
extern const ScheduleKind rows_kind;

typedef struct GridRowsShape {
  int64_t rows, elements; /* of a row */
  bool independent;       /* as of RowsShape */
  bool one_pass;          /* plain reductions, none of which needs another one */
  bool may_wait;          /* of several passes: each may be launches of its own */
  bool full;              /* there are results of the full shape */
  int64_t reductions;
  int unroll;   /* elements that a thread may evaluate side by side */
  int width;    /* ... of a vector that it stores at once */
  int operands; /* of which it loads an element each */
} GridRowsShape;

typedef enum ThreadGroup { GROUP_THREAD, GROUP_WARP, GROUP_BLOCK, GROUP_BLOCKS } ThreadGroup;

enum { PARTIAL = 8 }; /* bytes of a partial result in scratch, at most */

typedef struct GridRowsSchedule {
  int64_t rows, elements;
  ThreadGroup group;  /* that does a row; of several blocks each does a chunk, and a second launch
                         combines their partial results */
  int64_t chunks;     /* of a row that several blocks do; else 0 */
  int tile;           /* elements of a chunk that a block evaluates before it adds them up */
  bool passes;        /* ... pass by pass */
  bool apply;         /* results of the full shape wait for the reductions: a launch of their own */
  int rounds;         /* of two elements of a thread, whose loads are under way together */
  int vectors, width; /* of a warp's row: so many of a thread are evaluated before one is stored, of
                         so many elements each; 0: one after the other */
  int threads;        /* of a block */
  int64_t blocks;
  uint64_t sums;    /* where the totals of rows lie in scratch, if `apply` */
  uint64_t scratch; /* bytes */
} GridRowsSchedule;

GridRowsSchedule grid_rows_schedule(const GridMachine *m, const GridRowsShape *s);
extern const ScheduleKind grid_rows_kind;

/* ---- columns ---- */

typedef struct ColumnsShape {
  int64_t rows, columns, outer; /* reduced elements; kept side by side; kept around them */
  int64_t work;
  bool chunked; /* a real sum: chunks of COL_CHUNK rows are added in order */
} ColumnsShape;

enum { COLUMN_BLOCK = 64 }; /* columns of a unit */

typedef struct ColumnsSchedule {
  int64_t rows, columns, outer;
  int64_t blocks; /* of columns */
  int width;      /* columns of a block, at most */
  int64_t chunks; /* of rows; 1: one sum */
  bool split;     /* chunks are units, too, and a second launch adds up their partial sums */
  int64_t all_units, units;
} ColumnsSchedule;

ColumnsSchedule columns_schedule(const ColumnsShape *s);
extern const ScheduleKind columns_kind;

typedef struct GridColumnsShape {
  int64_t rows, columns; /* reduced and kept elements */
  bool chunked;          /* a real sum, as of ColumnsShape; or one whose bits no chunks change */
  bool along;            /* what is reduced lies side by side rather than what is kept */
  int size;              /* bytes of a number that is combined */
} GridColumnsShape;

/* A block does `width` columns. All its threads evaluate a tile of them, neighbours what lies side
   by side, and a thread for each column combines it in order; or a thread does a column alone. */
typedef struct GridColumnsSchedule {
  int64_t rows, columns;
  bool along;
  bool tiled;
  int width, depth;  /* columns of a block, and rows of a tile */
  int64_t chunks;    /* of rows; 1: one sum */
  int warps;         /* of a block, each of which does a chunk, straight from memory, if not 0 */
  bool split;        /* a block does one chunk, */
  bool ends;         /* ... and the last one of some columns combines partial results, where it
                        takes no longer than another launch; or a second launch does, */
  int parts;         /* ... so many of them at a time, */
  int combine_width; /* ... of so many columns in a block */
  int64_t combine_blocks;
  int threads;
  int64_t column_blocks, blocks;
  uint64_t scratch; /* bytes */
} GridColumnsSchedule;

GridColumnsSchedule grid_columns_schedule(const GridMachine *m, const GridColumnsShape *s);
extern const ScheduleKind grid_columns_kind;
#endif
