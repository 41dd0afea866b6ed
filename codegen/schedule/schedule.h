/* Schedules: how a kernel's work is cut into tiles, units, blocks and chunks, what is packed, and
   how far loops are unrolled. A schedule is a plain struct; the function that makes it knows shapes
   and facts of a machine, and prints nothing. Contract: the same shape and machine give the same
   schedule; what a sum adds up to depends on the shape alone, whatever the machine.
   --print-schedules shows the fields by the tables of their kinds. */
#ifndef GC_CODEGEN_SCHEDULE_H
#define GC_CODEGEN_SCHEDULE_H
#include "ir/ir.h"
#include "passes/target.h"

#include <stddef.h>

#ifndef INL
#define INL static inline
#endif
#include "codegen/schedule/shares.h"

/* ---- machines ---- */

/* The data caches of a core, in bytes: of what cores share, its part. */
typedef struct Caches {
  int64_t l1, l2, l3;
  int ways; /* of l1: lines of one set */
} Caches;

/* A processor whose cores have vector registers. */
typedef struct VectorMachine {
  int vector;     /* bytes of a register */
  int vectors;    /* a row of the product's tile, in registers: 4 with 32 registers, else 2 */
  int rows;       /* rows of that tile */
  bool pairs;     /* multiplies pairs of bf16 and adds both products to an f32 */
  bool amx;       /* has tile registers, and multiplies matrices of bf16 in these */
  bool amx_bytes; /* ... and bytes, beside vpdpbusd, whose words these read */
  Caches cache;   /* no result may depend on it */
} VectorMachine;

/* A device that runs blocks of threads, in warps. */
typedef struct GridMachine {
  int warp, block;     /* threads of a warp, and of a block where nothing else is said */
  int blocks;          /* that keep all its multiprocessors busy */
  int multiprocessors; /* of the device that has wgmma */
  int shared;          /* bytes of shared memory that a block may have */
  int scratch;         /* partial sums take at most 1 / scratch of the operands' bytes */
  double launch;       /* fma of a block in the time that one more launch takes */
  double byte;         /* ... that a byte takes on its way from memory or to it */
  double mma, wgmma;   /* multiply-adds of tf32 in the time of an fma, by instructions of warps and
                          of warpgroups */
} GridMachine;

/* Operations on elements under which a launch stays on one thread; and elements under which one
   does that only moves them, which is to read and to write each. */
enum { SERIAL_WORK = 16384, SERIAL_MOVES = SERIAL_WORK / 2 };

/* Elements that a float reduction adds up side by side along a row, of a row and of a column that
   are added up before the next such part: bits depend on them. */
enum { LANES = 64, ROW_CHUNK = SUM_ROW, ROW_GROUP = SUM_GROUP, COL_CHUNK = SUM_COLUMN };
/* Elements of a cumulative sum that follow each other, and such chunks of a group: bits depend on
   them, too (cumsum.h). */
enum { SCAN_CHUNK = 256, SCAN_GROUP = 32 };

/* ---- fields, as they are shown ---- */

typedef enum FieldType { FIELD_INT, FIELD_INT64, FIELD_BOOL, FIELD_ENUM } FieldType;
typedef struct ScheduleField {
  const char *name; /* NULL ends a list */
  FieldType type;
  size_t offset;
  const char *const *names; /* of an enum's values */
} ScheduleField;
#define SCHEDULE_FIELD(T, field)                                                                   \
  {                                                                                                \
#field,                                                                                        \
        _Generic(((T *)0)->field, int                                                              \
                 : FIELD_INT, int64_t                                                              \
                 : FIELD_INT64, bool                                                               \
                 : FIELD_BOOL),                                                                    \
        offsetof(T, field), NULL                                                                   \
  }
#define SCHEDULE_ENUM(T, field, names)                                                             \
  { #field, FIELD_ENUM, offsetof(T, field), names }

typedef struct ScheduleKind {
  const char *name; /* "product" */
  const ScheduleField *fields;
} ScheduleKind;

/* "product m=64 n=256 …" */
const char *schedule_text(Arena *a, const ScheduleKind *kind, const void *schedule);

/* ---- common ---- */

static inline int64_t ceil_div(int64_t n, int64_t of) { return of ? (n + of - 1) / of : 0; }
/* Of so many equal units: the mean work of so many threads by that of the busiest one. */
double units_balance(int64_t units, int threads);
static inline int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }
/* Elements of `size` bytes in a register. */
static inline int machine_lanes(const VectorMachine *m, int size) { return m->vector / size; }
/* Columns of a panel, where as few panels as registers allow have n columns, in equal widths. */
int panel_columns(const VectorMachine *m, int64_t n);

/* ---- tiles in shared memory, of a thread for each column ---- */

/* Elements from row to row of a tile: odd, so that rows begin in all banks. */
static inline int grid_tile_stride(int width) { return width | 1; }
/* Rows of a tile of so many columns of `size` bytes: a power of two, no more than `most` or than
   hold `rows` of them. */
int grid_tile_depth(int most, int64_t rows, int width, int size);
#endif
