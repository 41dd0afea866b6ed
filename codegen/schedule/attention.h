/* Schedules of attention and its gradients: blocks of queries against blocks of keys. The blocks
   depend on the shapes and the dtype alone, and so do the sums. */
#ifndef GC_CODEGEN_SCHEDULE_ATTENTION_H
#define GC_CODEGEN_SCHEDULE_ATTENTION_H
#include "codegen/schedule/schedule.h"

typedef struct AttentionShape {
  bool grad, causal;
  Dtype in, compute;    /* of queries, keys and values; that sums are computed in */
  int64_t heads, group; /* of queries; how many of them share the keys of one head */
  int64_t t, s, d, e;   /* queries, keys, their length, that of values */
} AttentionShape;

typedef struct AttentionTile {
  int64_t block;   /* queries and keys of a block, a power of two */
  bool long_heads; /* blocks are too large for a stack, or for registers */
} AttentionTile;
AttentionTile attention_tile(const AttentionShape *s);

/* Blocks of queries of all heads; of gradients, heads of keys: each needs buffers. */
int64_t attention_units(const AttentionShape *s);

/* Queries that go by at a time; in tile registers, which every block in f32 is a multiple of. */
enum { ATTENTION_ROWS = 6, AMX_ATTENTION_ROWS = 32 };

typedef struct AttentionSchedule {
  int64_t heads, group, t, s, d, e;
  int64_t block;
  bool long_heads;
  int rows;                   /* queries that go by at a time */
  int nr;                     /* columns of a panel of keys */
  int64_t blocks, key_blocks; /* of a head's queries and keys */
  int64_t together;           /* blocks of queries that a thread does with one packing of keys */
  bool grad, causal;          /* as of the shape */
  bool amx;                   /* products in tile registers */
  bool shared;                /* attention_share or attention_grad_share says who has which units */
  int finest; /* parts of a block of queries at most, where threads have few blocks */
  int64_t all_units, units;
  int64_t
      parts; /* where threads divide them, they own slices of what has a row a query; 0: never */
} AttentionSchedule;
double attention_balance(const void *schedule, int threads); /* as Kernel's */

/* Columns of a panel, of n columns of what is computed so. */
int attention_panel(const VectorMachine *m, Dtype compute, int64_t n);
AttentionSchedule attention_schedule(const VectorMachine *m, const AttentionShape *s,
                                     uint64_t flops);
extern const ScheduleKind attention_kind;

/* ---- devices ---- */

typedef struct GridAttentionSchedule {
  int64_t heads, group, t, s, d, e;
  bool tensor;              /* on tensor cores */
  int rows, step;           /* of a block of threads: its queries, and keys at a time */
  int key_rows, key_step;   /* of the second launch of gradients: its keys, queries at a time */
  int tiles, key_tiles;     /* on tensor cores: of 16 rows, of a warp */
  int threads, key_threads; /* of a block */
  int resident;             /* off tensor cores: blocks that a multiprocessor is to hold */
  int shared, key_shared;   /* bytes, of tiles on tensor cores */
  int copy_d, copy_e;       /* there: bytes of a copy to shared memory */
  int64_t part;             /* columns of the results that a block of threads does */
  int64_t query_parts, key_parts;   /* blocks of threads that share them */
  int64_t query_blocks, key_blocks; /* of a head */
  int64_t blocks, blocks_of_keys;   /* of threads; of the second launch of gradients */
} GridAttentionSchedule;

/* Heads whose blocks come together where some blocks have more to do than others: what they read
   fits L2. keys: of the launch by keys and values. */
int64_t attention_band(const AttentionShape *s, bool keys);

/* tensor: tensor cores may be used. They are, for halves of heads that are not too long. */
GridAttentionSchedule grid_attention_schedule(const GridMachine *machine, const AttentionShape *s,
                                              bool tensor);
/* The same with the step of warpgroups, whose bits it has. False: it has that step, or tiles do not
   fit; or it is of gradients, which do not depend on the step. */
bool grid_attention_alike(const GridMachine *machine, const AttentionShape *s,
                          GridAttentionSchedule *a);
extern const ScheduleKind grid_attention_kind;

/* Of few queries, as in decoding: blocks of threads share the keys, and the last one of a head puts
   together what they have. */
typedef struct SplitAttentionSchedule {
  int64_t heads, group, t, s, d, e; /* heads: of keys */
  int keys, copy;                   /* of a block of threads; elements of one load */
  int threads;                      /* of a block */
  int64_t blocks, signals, scratch; /* bytes; signals: where in scratch those lie, if they do */
  int64_t of_block, launches, handed_on, of_key; /* as of attention_splits */
} SplitAttentionSchedule;

/* False: a block of threads goes over all keys. */
bool split_attention_schedule(const GridMachine *machine, const AttentionShape *s,
                              SplitAttentionSchedule *out);
/* The same where each run decides about the keys, or, queries_vary, about both, by
   attention_splits: for the most queries that it may split. alike: of a run both are the same part
   of those of the shape. */
bool split_attention_most(const GridMachine *machine, const AttentionShape *s, bool queries_vary,
                          bool alike, SplitAttentionSchedule *out);
extern const ScheduleKind split_attention_kind;

/* By warpgroups: one copies, each of the others multiplies 64 rows by those of a step. */
enum { WGMMA_STEP = 64 };
typedef struct WgmmaAttentionSchedule {
  int groups;          /* warpgroups that multiply */
  int rows, stages;    /* of a block; of its ring */
  int threads, shared; /* of a block */
  int resident;        /* blocks that a multiprocessor is to hold */
  int64_t blocks_of_head, blocks;
} WgmmaAttentionSchedule;

/* Heads of that length are for it, if they have queries and keys enough. */
bool wgmma_attention_suits(const AttentionShape *s);
/* keys: of the launch by keys and values. False: heads that are too long or too short for it. */
bool wgmma_attention_schedule(const GridMachine *machine, const AttentionShape *s, bool keys,
                              WgmmaAttentionSchedule *out);
#endif
