/* Schedules of attention; see attention.h. */
#include "codegen/schedule/attention.h"

enum {
  BLOCK = 64,     /* queries and keys: lanes that a row's weights are added up in; half in f64 */
  LEAST = 16,     /* ... where queries, keys or values are long, but not beyond LONG: */
  ROOM = 1 << 17, /* bytes of a block of any of them */
  SHORTEST_PART = 16, /* queries of a part of a block */
  LONG = 1024,        /* numbers of queries, keys or values from which on they are long */
  /* Columns of the results that a block of threads on a device does: 4 for each of 256 threads, 1
     of long heads. Chosen by count, not measured. */
  PART = 1024,
  LONG_PART = 256
};

AttentionTile attention_tile(const AttentionShape *s) {
  int64_t longest = s->d > s->e ? s->d : s->e;
  AttentionTile a = {.block = s->compute == DT_F64 ? BLOCK / 2 : BLOCK,
                     .long_heads = longest > LONG};
  while (!a.long_heads && a.block > LEAST && a.block * longest * dtype_size(s->compute) > ROOM)
    a.block /= 2;
  return a;
}

int64_t attention_units(const AttentionShape *s) {
  return s->grad ? s->heads / s->group : s->heads * ceil_div(s->t, attention_tile(s).block);
}

/* Blocks of queries whose operands and results stay in the second cache beside a block of keys and
   one of values, which lie in the first: a multiple of three, whose rows are whole row panels,
   where there are so many. */
static int64_t queries_together(const VectorMachine *m, const AttentionShape *s,
                                const AttentionTile *tile) {
  if (s->grad || tile->long_heads) return 1;
  int64_t bytes = tile->block * (s->d + s->e) * dtype_size(s->compute);
  int64_t most = bytes ? m->cache.l2 / 4 / bytes : 1, blocks = ceil_div(s->t, tile->block);
  if (blocks && blocks < s->group) blocks = s->group; /* or one of each head with common keys */
  if (most >= blocks) return blocks ? blocks : 1;
  return most > 3 ? most / 3 * 3 : most < 1 ? 1 : most;
}

AttentionSchedule attention_schedule(const VectorMachine *m, const AttentionShape *s,
                                     uint64_t flops) {
  AttentionTile tile = attention_tile(s);
  AttentionSchedule a = {.heads = s->heads,
                         .group = s->group,
                         .t = s->t,
                         .s = s->s,
                         .d = s->d,
                         .e = s->e,
                         .block = tile.block,
                         .long_heads = tile.long_heads,
                         .rows = ATTENTION_ROWS,
                         .amx = s->in == DT_BF16 && m->amx,
                         .blocks = ceil_div(s->t, tile.block),
                         .key_blocks = ceil_div(s->s, tile.block),
                         .grad = s->grad,
                         .causal = s->causal};
  a.nr = a.amx ? (int)a.block : attention_panel(m, s->compute, a.block);
  if (a.amx) a.rows = AMX_ATTENTION_ROWS;
  a.shared = s->grad ? !a.long_heads : s->causal && a.blocks > 1;
  a.together = queries_together(m, s, &tile);
  a.all_units = attention_units(s);
  if (s->grad && a.shared) a.all_units = s->heads / s->group * a.key_blocks + s->heads * a.blocks;
  a.finest = 1;
  const int shortest = a.amx ? AMX_ATTENTION_ROWS : SHORTEST_PART;
  if (flops >= SERIAL_WORK * 4 && !s->grad && !a.long_heads && s->t > shortest &&
      a.block > shortest)
    a.finest = (int)a.block / shortest;
  a.units = flops < SERIAL_WORK * 4 ? 1 : a.all_units;
  if (s->causal && a.finest > 1) a.shared = true;
  if (a.units == 1 && a.finest == 1) a.shared = false, a.all_units = attention_units(s);
  if (a.units > 1 && (s->grad || s->t % a.block == 0 || s->t < a.block))
    a.parts = s->grad ? s->heads / s->group : a.shared ? s->heads : a.all_units;
  a.units *= a.finest;
  return a;
}

/* Products of a block of queries by a block of keys that the first n units take. */
static int64_t products_of(const AttentionSchedule *a, int threads, int64_t n) {
  int64_t heads = a->heads / a->group, queries = a->blocks * a->group;
  int64_t of_query = a->causal ? 0 : a->key_blocks;
  int64_t keys = heads * a->key_blocks, sum = 0;
  bool whole = attention_grad_whole(threads, heads, a->key_blocks, queries);
  if (a->grad && whole)
    return 5 * n * (a->causal ? (a->blocks + 1) * queries / 2 : queries * a->key_blocks);
  for (int64_t u = 0; u < n; u++) {
    bool of_keys = a->grad && u < keys;
    int64_t i = of_keys ? u % a->key_blocks : (a->grad ? u - keys : u) % a->blocks;
    int64_t blocks = a->causal ? i + 1 : of_query;
    sum += !a->grad  ? 2 * blocks
           : of_keys ? 4 * a->group * (a->causal ? blocks : a->blocks)
                     : 3 * blocks;
  }
  return sum;
}

double attention_balance(const void *schedule, int threads) {
  AttentionSchedule fine = *(const AttentionSchedule *)schedule, *a = &fine;
  if (a->finest > 1) {
    const int64_t parts = attention_parts(threads, a->heads, a->t, a->block, a->finest, a->causal);
    a->blocks = ceil_div(a->t, a->block / parts);
    a->all_units = a->heads * a->blocks;
  }
  if (!a->shared) return units_balance(a->all_units, threads);
  int64_t heads = a->heads / a->group, queries = a->blocks * a->group, most = 0, end = 0;
  for (int t = 0; t <= threads; t++) {
    int64_t from = end;
    end = a->grad
              ? attention_grad_share(t, threads, heads, a->key_blocks, queries, a->group, a->causal)
              : attention_share(t, threads, a->heads, a->blocks, a->causal);
    int64_t of = products_of(a, threads, end) - products_of(a, threads, from);
    if (of > most) most = of;
  }
  int64_t all = products_of(a, a->grad ? 1 : threads, a->grad ? heads : end);
  return most ? (double)all / (double)most / threads : 1;
}

int attention_panel(const VectorMachine *m, Dtype compute, int64_t n) {
  int64_t lanes = machine_lanes(m, dtype_size(compute)), nr = m->vectors * lanes;
  return (int)(n < nr ? ceil_div(n, lanes) * lanes : nr);
}

#define FIELD(f) SCHEDULE_FIELD(AttentionSchedule, f)
const ScheduleKind attention_kind = {"attention", (const ScheduleField[]){FIELD(heads),
                                                                          FIELD(group),
                                                                          FIELD(t),
                                                                          FIELD(s),
                                                                          FIELD(d),
                                                                          FIELD(e),
                                                                          FIELD(block),
                                                                          FIELD(long_heads),
                                                                          FIELD(rows),
                                                                          FIELD(nr),
                                                                          FIELD(blocks),
                                                                          FIELD(key_blocks),
                                                                          FIELD(finest),
                                                                          FIELD(shared),
                                                                          FIELD(together),
                                                                          FIELD(amx),
                                                                          {0}}};
#undef FIELD

/* ---- devices ---- */

/* Chosen by counting registers and bytes; none is measured on a device. */
enum {
  PAIR = 16,         /* rows of an instruction on tensor cores, and elements of its depth */
  TENSOR_WARPS = 4,  /* of a block: one for each scheduler of a multiprocessor */
  TENSOR_LONG = 256, /* elements of the longest heads there: more do not fit shared memory */
  /* Columns of gradients there that a block does: a thread has 64 registers of sums for each of two
     gradients. */
  TENSOR_PART = 128,
  /* Off tensor cores: threads of a block for heads of so many elements, with gradients or without.
   */
  EXACT_THREADS = 128,
  EXACT_SHORT = 64,
  EXACT_LONG = 128,
  /* Of a thread for scores and results. It can have 255; the other 87 are for operands and
     addresses. */
  REGISTERS = 168
};

/* Blocks of threads that share the columns of results, the longest of which has n. */
static int64_t parts_of(int64_t n, int64_t part) { return n ? ceil_div(n, part) : 1; }

static int64_t whole_pairs(int64_t n) { return ceil_div(n, PAIR) * PAIR; }

typedef struct TensorTiles {
  int rows, step, tiles, shared;
} TensorTiles;

/* What a block of `tiles` times 16 rows a warp, which meets `step` rows at a time, has in shared
   memory: its own tiles, and twice those of a step, with 16 bytes behind each row; for `keys`, two
   numbers a query of a step. */
static int64_t shared_bytes(const AttentionShape *s, bool keys, int rows, int step) {
  int64_t d = whole_pairs(s->d) * 2 + 16, e = whole_pairs(s->e) * 2 + 16;
  return rows * (s->grad ? d + e : d) + 2 * step * (d + e + (keys ? 8 : 0));
}

/* Registers of a thread for the scores of a step, for results, and for numbers a row: the running
   maximum, its sum and the factor of earlier ones, or two of each query. */
static int64_t registers(const AttentionShape *s, bool keys, int tiles, int step) {
  int64_t part = s->grad ? TENSOR_PART : TENSOR_LONG;
  int64_t d = whole_pairs(s->d), e = whole_pairs(s->e), columns = 0;
  if (s->grad) columns += d < part ? d : part;
  if (!s->grad || keys) columns += e < part ? e : part;
  int64_t of_rows = keys ? 0 : s->grad ? 4 : 6;
  return tiles * ((columns + (s->grad ? 2 : 1) * step) / 2 + of_rows);
}

/* Reads of shared memory for each instruction on tensor cores: every operand serves as many as lie
   along the other side. */
static double reads(const AttentionShape *s, bool keys, int tiles, int step) {
  double depth = (double)(s->d + (s->grad ? s->e : 0)), out = (double)(s->grad ? s->d : s->e);
  if (keys) out += (double)s->e;
  return (depth * (tiles + step / 16.0) / (tiles * step / 8.0) + out / (2.0 * tiles)) /
         (depth + out);
}

/* Takes the step of so many tiles that fits registers and shared memory and reads less of it than
   *least, which becomes that: of two that read alike, the longer one, as it waits less often. only:
   this step; 0: any. */
static void take_step(const GridMachine *machine, const AttentionShape *s, bool keys, int tiles,
                      int only, TensorTiles *best, double *least) {
  const int rows = TENSOR_WARPS * PAIR * tiles;
  for (int step = 4 * PAIR; step >= PAIR; step /= 2) {
    int64_t shared = shared_bytes(s, keys, rows, step);
    if ((only && step != only) || shared > machine->shared ||
        registers(s, keys, tiles, step) > REGISTERS)
      continue;
    double r = reads(s, keys, tiles, step);
    if (best->rows && r >= *least) continue;
    *best = (TensorTiles){rows, step, tiles, (int)shared}, *least = r;
  }
}

/* Heads that give too few blocks for all multiprocessors have short ones. Results are scaled behind
   each step of keys, so these have the step of long ones: it does not depend on how many heads,
   queries and keys there are. */
static TensorTiles tensor_tiles(const GridMachine *machine, const AttentionShape *s, bool keys) {
  TensorTiles two = {0}, best = {0};
  double least = 0;
  const int64_t heads = keys ? s->heads / s->group : s->heads;
  take_step(machine, s, keys, 2, 0, &two, &least);
  if (heads * ceil_div(keys ? s->s : s->t, 2 * TENSOR_WARPS * PAIR) >= machine->blocks) best = two;
  take_step(machine, s, keys, 1, s->grad ? 0 : two.step, &best, &least);
  for (int rows = 2 * PAIR; !best.rows && rows >= PAIR;
       rows /= 2) /* of the longest heads: fewer warps */
    if (shared_bytes(s, keys, rows, PAIR) <= machine->shared)
      best = (TensorTiles){rows, PAIR, 1, (int)shared_bytes(s, keys, rows, PAIR)};
  return best;
}

/* Bytes of the widest copy that rows of n halves allow. */
static int half_copy(int64_t n) {
  int bytes = 16;
  while (n * 2 % bytes) bytes /= 2;
  return bytes;
}

static void take_tiles(const GridMachine *machine, const AttentionShape *s, const TensorTiles *q,
                       GridAttentionSchedule *a) {
  a->rows = q->rows, a->step = q->step, a->tiles = q->tiles, a->shared = q->shared;
  a->threads = q->rows / (PAIR * q->tiles) * machine->warp;
  a->query_blocks = ceil_div(s->t, a->rows);
  a->blocks = s->heads * a->query_blocks * a->query_parts;
}

/* Queries of a block of threads off tensor cores: as many as keys, or fewer where the others would
   not be there, or where multiprocessors without a block take them; a block of half of them takes
   more than half as long. */
static int exact_rows(const GridMachine *machine, const AttentionShape *s, int block,
                      int64_t parts) {
  int rows = block;
  while (rows > LEAST && (s->t <= rows / 2 ||
                          s->heads * parts * ceil_div(s->t, rows / 2) <= machine->multiprocessors))
    rows /= 2;
  return rows;
}

/* Off tensor cores: half as many threads have twice the rows each, so an operand from shared memory
   serves more of them, where registers of a thread have room for the results and for scores, of
   which gradients have two tiles. By count, and by what ptxas says. */
static void take_threads(const AttentionShape *s, int64_t longest, GridAttentionSchedule *a) {
  const bool fits = longest <= (s->grad ? EXACT_SHORT : EXACT_LONG);
  if (fits) a->threads = a->key_threads = EXACT_THREADS;
  a->resident = fits ? 2 : 1;
}

GridAttentionSchedule grid_attention_schedule(const GridMachine *machine, const AttentionShape *s,
                                              bool tensor) {
  AttentionTile tile = attention_tile(s);
  int64_t longest = s->d > s->e ? s->d : s->e;
  GridAttentionSchedule a = {.heads = s->heads,
                             .group = s->group,
                             .t = s->t,
                             .s = s->s,
                             .d = s->d,
                             .e = s->e,
                             .rows = (int)tile.block,
                             .step = (int)tile.block,
                             .key_rows = (int)tile.block,
                             .key_step = (int)tile.block,
                             .threads = machine->block,
                             .key_threads = machine->block,
                             .part = tile.long_heads ? LONG_PART : PART};
  a.tensor = tensor && dtype_is_half(s->in) && longest <= TENSOR_LONG && s->heads && s->t && s->s &&
             s->d && s->e;
  if (a.tensor) {
    TensorTiles q = tensor_tiles(machine, s, false), k = q;
    if (s->grad) k = tensor_tiles(machine, s, true);
    a.rows = q.rows, a.step = q.step, a.tiles = q.tiles, a.shared = q.shared;
    a.key_rows = k.rows, a.key_step = k.step, a.key_tiles = k.tiles, a.key_shared = k.shared;
    a.threads = q.rows / (PAIR * q.tiles) * machine->warp;
    a.key_threads = k.rows / (PAIR * k.tiles) * machine->warp;
    a.copy_d = half_copy(s->d), a.copy_e = half_copy(s->e);
    a.part = s->grad ? TENSOR_PART : TENSOR_LONG;
  }
  a.query_parts = parts_of(s->grad ? s->d : s->e, a.part);
  if (!a.tensor) take_threads(s, longest, &a);
  if (!a.tensor) a.rows = exact_rows(machine, s, a.rows, a.query_parts);
  a.query_blocks = ceil_div(s->t, a.rows);
  a.key_blocks = ceil_div(s->s, a.key_rows);
  a.key_parts = parts_of(longest, a.part);
  a.blocks = s->heads * a.query_blocks * a.query_parts;
  a.blocks_of_keys = s->grad ? s->heads / s->group * a.key_blocks * a.key_parts : 0;
  return a;
}

bool grid_attention_alike(const GridMachine *machine, const AttentionShape *s,
                          GridAttentionSchedule *a) {
  TensorTiles q = {0};
  double least = 0;
  if (s->grad || a->step == WGMMA_STEP) return false;
  take_step(machine, s, false, 1, WGMMA_STEP, &q, &least);
  if (q.rows) take_tiles(machine, s, &q, a);
  return q.rows != 0;
}

int64_t attention_band(const AttentionShape *s, bool keys) {
  enum { L2 = 16 << 20 }; /* bytes: less than half of an A100's or H100's */
  int64_t heads = keys ? s->heads / s->group : s->heads;
  int64_t bytes = (keys ? s->t * s->group : s->s) * (s->d + s->e) * dtype_size(s->in);
  int64_t band = bytes > 0 ? L2 / bytes : heads;
  return band < 1 ? 1 : band < heads ? band : heads;
}

/* ---- by warpgroups ---- */

enum {
  WARPGROUP = 128,  /* threads */
  GROUP_ROWS = 64,  /* of a warpgroup: those of an instruction */
  PIECE = 64,       /* halves of a row that lie side by side in shared memory */
  WGMMA_LONG = 128, /* halves of a row: registers hold the sums of no more */
  WGMMA_SHARED =
      227 << 10, /* bytes of a block, all that a multiprocessor has but for a block's own KiB */
  BLOCK_SHARED = 1 << 10, /* of the system's, and of mbarriers and alignment */
  ONE_GROUP = 192, /* registers of a thread of 216 that one warpgroup of a block has; the others
                      are for addresses and numbers of queries */
  MOST_STAGES = 4,
  LEAST_STAGES = 2,
  /* Multiplications of mma.sync in those of wgmma: columns of zeros that fill a piece cost no more.
   */
  MMA_PERCENT = 62
};

static int64_t whole_pieces(int64_t n) { return ceil_div(n, PIECE) * PIECE; }

static bool fills_pieces(int64_t n) { return whole_pieces(n) * MMA_PERCENT <= n * 100; }

/* The ring has what `resident` blocks leave of a multiprocessor's shared memory, up to four stages.
 */
static int ring_stages(const AttentionShape *s, bool keys, int rows, int resident) {
  int64_t row = (whole_pieces(s->d) + whole_pieces(s->e)) * 2;
  int64_t own = rows * (s->grad ? row : whole_pieces(s->d) * 2);
  int64_t stage = WGMMA_STEP * (row + (keys ? 8 : 0));
  int64_t stages = ((WGMMA_SHARED + BLOCK_SHARED) / resident - 2 * BLOCK_SHARED - own) / stage;
  return stages > MOST_STAGES ? MOST_STAGES : (int)stages;
}

/* Registers of a thread for sums, for scores of a step, and for them as left operands. */
static int64_t wgmma_registers(const AttentionShape *s, bool keys) {
  int64_t d = whole_pieces(s->d), e = whole_pieces(s->e);
  int64_t sums = keys ? d + e : s->grad ? d : e;
  return (sums + (s->grad ? 2 : 1) * WGMMA_STEP) / 2 + (keys ? 2 : 1) * WGMMA_STEP / 4;
}

bool wgmma_attention_suits(const AttentionShape *s) {
  return dtype_is_half(s->in) && s->d <= WGMMA_LONG && s->e <= WGMMA_LONG && fills_pieces(s->d) &&
         fills_pieces(s->e) && s->heads * s->t <= INT32_MAX - WGMMA_STEP;
}

/* Whether blocks of one warpgroup, of which a multiprocessor holds one, end before blocks of two:
   there are twice as many, and each takes ALONE percent of the time, by the model. With a causal
   mask a block has half of the longest one's work on the mean, and the longest begin first. */
static bool ends_sooner_alone(const GridMachine *machine, bool causal, int64_t heads,
                              int64_t rows) {
  enum { ALONE = 70, MEAN = 50, WHOLE = 100 };
  const int64_t n = machine->multiprocessors, two = heads * ceil_div(rows, 2 * GROUP_ROWS),
                one = heads * ceil_div(rows, GROUP_ROWS);
  int64_t of_two = ceil_div(two, n) * WHOLE, of_one = ceil_div(one, n) * WHOLE;
  if (causal) {
    of_two = two * MEAN > n * WHOLE ? two * MEAN / n : WHOLE;
    of_one = one * MEAN > n * WHOLE ? one * MEAN / n : WHOLE;
  }
  return of_one * ALONE < of_two * WHOLE;
}

/* Two warpgroups of a block share what is copied. Heads that give too few such blocks for all
   multiprocessors have one, and a multiprocessor two blocks, if a thread's registers then suffice,
   or one. By count, not measured on a device. */
bool wgmma_attention_schedule(const GridMachine *machine, const AttentionShape *s, bool keys,
                              WgmmaAttentionSchedule *out) {
  int64_t rows = keys ? s->s : s->t, heads = keys ? s->heads / s->group : s->heads;
  if (!wgmma_attention_suits(s) || s->t < GROUP_ROWS || s->s < GROUP_ROWS) return false;
  int groups = heads * ceil_div(rows, 2 * GROUP_ROWS) >= machine->blocks ? 2 : 1;
  int resident = 3 - groups;
  if (ring_stages(s, keys, groups * GROUP_ROWS, resident) < LEAST_STAGES ||
      wgmma_registers(s, keys) > ONE_GROUP) {
    groups = ends_sooner_alone(machine, s->causal, heads, rows) ? 1 : 2;
    resident = 1;
  }
  *out = (WgmmaAttentionSchedule){.groups = groups,
                                  .rows = groups * GROUP_ROWS,
                                  .resident = resident,
                                  .threads = (groups + 1) * WARPGROUP};
  out->stages = ring_stages(s, keys, out->rows, out->resident);
  int64_t row = (whole_pieces(s->d) + whole_pieces(s->e)) * 2;
  out->shared = (int)(out->rows * (s->grad ? row : whole_pieces(s->d) * 2) +
                      out->stages * WGMMA_STEP * (row + (keys ? 8 : 0)));
  out->blocks_of_head = ceil_div(rows, out->rows);
  out->blocks = heads * out->blocks_of_head;
  return out->stages >= LEAST_STAGES;
}

#define FIELD(f) SCHEDULE_FIELD(GridAttentionSchedule, f)
const ScheduleKind grid_attention_kind = {"attention", (const ScheduleField[]){FIELD(heads),
                                                                               FIELD(group),
                                                                               FIELD(t),
                                                                               FIELD(s),
                                                                               FIELD(d),
                                                                               FIELD(e),
                                                                               FIELD(tensor),
                                                                               FIELD(rows),
                                                                               FIELD(step),
                                                                               FIELD(tiles),
                                                                               FIELD(key_rows),
                                                                               FIELD(key_step),
                                                                               FIELD(key_tiles),
                                                                               FIELD(copy_d),
                                                                               FIELD(copy_e),
                                                                               FIELD(part),
                                                                               FIELD(query_parts),
                                                                               FIELD(key_parts),
                                                                               {0}}};
