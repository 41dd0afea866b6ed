/* Schedules of products on a device; see product.h. Algorithm: of the tiles of a block, and with
   all of the depth or one chain of it a block, what an estimate of the clocks takes least. */
#include "codegen/schedule/product.h"

#include <math.h>

static bool fills(const GridMachine *machine, const GridProductSchedule *p) {
  return p->parts * p->batch * ceil_div(p->m, p->bm) * ceil_div(p->n, p->bn) >= machine->blocks;
}

/* ---- on the ordinary units ---- */

typedef struct FmaTile {
  int bm, bn, tm, tn;
  bool ring; /* k-tiles come by asynchronous copies (text/gemm_ring.h), else through registers
                (text/gemm.h) */
} FmaTile;

enum { LARGE_TILES = 2 }; /* the first ones, whose sums in f64 no thread has registers for */
/* Sums of a thread take 64 registers of 255 at most. */
static const FmaTile fma_tiles[] = {
    {128, 128, 8, 8, false}, {64, 128, 8, 8, true}, {64, 64, 4, 4, false},
    {32, 32, 2, 2, false},   {64, 64, 4, 4, true},  {32, 64, 4, 4, true},
    {32, 32, 4, 2, true},    {16, 32, 2, 2, true},  {16, 8, 2, 1, true}};

int grid_ring_bytes(const GridProductSchedule *p) {
  const int size = dtype_size(p->dt), pad = RING_PAD / size;
  const int a = p->ta ? RING_DEPTH * (p->bm + pad) : p->bm * (RING_DEPTH + pad);
  const int b = p->tb ? p->bn * (RING_DEPTH + pad) : RING_DEPTH * (p->bn + pad);
  return (a + b) * size;
}

/* Bytes of a load of a quantized B's integers: as many as leave each thread one, in one group. Rows
   of f32 in shared memory are stored four at a time. */
static int quantized_copy(const GridProductSchedule *p) {
  enum { WORD = 4, MOST = 8 };
  const int depth = p->tensor ? STAGE_ROW / dtype_size(p->in) : GEMM_DEPTH;
  const int numbers = 8 / p->bits, all = p->bn * depth / numbers;
  int bytes = p->tb || p->tensor ? MOST : WORD;
  while (bytes > (p->tb ? WORD : 1) &&
         (p->b_row % bytes || all < bytes * p->threads || (p->tb && p->group < bytes * numbers)))
    bytes /= 2;
  return bytes;
}

/* False: shared memory has no room for two k-tiles. A launch asks for more than RING bytes where
   registers leave a multiprocessor no more than LARGE_TILE_BLOCKS. */
static bool take_tile(const GridMachine *machine, GridProductSchedule *p, const FmaTile *t) {
  enum { RING = 40 << 10, LEAST = 2, MOST = 8, LARGE = 64 }; /* bytes; stages; sums of a thread */
  p->bm = t->bm, p->bn = t->bn, p->tm = t->tm, p->tn = t->tn;
  p->threads = p->bm / p->tm * (p->bn / p->tn);
  p->side = p->tn < 4 ? p->tn : 4;
  p->stages = 0;
  p->blocks = p->parts * p->batch * ceil_div(p->m, p->bm) * ceil_div(p->n, p->bn);
  if (p->bits) p->copy_b = quantized_copy(p);
  if (!t->ring) return true;
  if (p->tb) p->side = 1; /* columns of a thread lie apart */
  const bool large = p->tm * p->tn >= LARGE;
  const int64_t room = (large ? machine->shared : RING) / grid_ring_bytes(p),
                k_tiles = ceil_div(p->part, RING_DEPTH);
  int64_t stages = k_tiles + 1 < MOST ? k_tiles + 1 : MOST;
  if (stages > room) stages = room;
  p->stages = stages < LEAST ? LEAST : (int)stages;
  if (large) p->shared = p->stages * grid_ring_bytes(p);
  return room >= LEAST;
}

GridStep grid_product_step(const GridProductSchedule *p) {
  enum {
    LINE = 128,
    COPY = 5,
    LOAD = 6,
    NUMBER = 3
  }; /* bytes; instructions of a copy, of a load and its
        store, with their addresses, of a number of an integer */
  const double size = dtype_size(p->dt), vector = 16 / size, warp = 32, warps = p->threads / warp;
  const double sums = p->tm * p->tn;
  double a = ceil(p->tm / vector), b = ceil(p->tn / vector); /* loads of a thread */
  double wavefronts = a * (p->tm < vector ? 1 : 2) + b * (p->tn < vector ? 1 : 2), copies, moved;
  double made = 0;
  if (p->stages) {
    if (!p->ta) a = p->tm / vector;
    if (p->tb) b = p->tn / vector;
    /* a warp has two rows of threads, 16 columns, or four of 8 */
    const int lanes = p->bn / p->tn;
    wavefronts = a + b * (p->tb || p->tn >= vector ? lanes / 8.0 : 1);
    copies = (p->bm / (double)p->copy_a + p->bn / (double)p->copy_b) * size / warp;
    moved = COPY;
  } else {
    copies = (p->bm + p->bn) / warp;
    moved = LOAD;
  }
  if (p->bits) { /* a load of integers and one of scales, then each number by itself */
    const double loads = p->bn * p->bits / 8.0 / p->copy_b / warp, numbers = p->bn / warp,
                 stores = numbers / (p->tb ? 1 : p->copy_b);
    copies = p->bm / warp + 2 * loads + stores;
    moved = 0;
    made = (p->bm / warp + 2 * loads) * LOAD + numbers * NUMBER + stores;
  }
  return (GridStep){.fma = warps * sums,
                    .loads = warps * (a + b),
                    .copies = copies,
                    .issue = warps * (sums + a + b) + copies * moved + made,
                    .wavefronts = warps * wavefronts * size / 4 + (p->bm + p->bn) * size / LINE};
}

/* Clocks of all blocks: those of a multiprocessor take turns on its units, and each waits for
   itself. By count, not measured on a device. */
static double fma_clocks(const GridMachine *machine, const GridProductSchedule *p) {
  enum {
    SCHEDULERS = 4,
    RESIDENT = 4,  /* blocks of a multiprocessor */
    DEPENDENT = 4, /* clocks of an fma that waits for the one before */
    K_TILE = 60,   /* ... of a k-tile's end: the barrier, and the first loads behind it */
    MEMORY = 700,  /* clocks that a load takes */
    FMA = 128,     /* a clock */
    ENDS = 2000    /* clocks before the first k-tile and behind the last */
  };
  const GridStep s = grid_product_step(p);
  const double f64 = dtype_size(p->dt) == 8 ? 2 : 1, warps = p->threads / 32.0;
  const double fma = s.fma * f64 / SCHEDULERS, issue = s.issue / SCHEDULERS,
               unit = fmax(fmax(fma, issue), s.wavefronts);
  const int depth = grid_product_depth(p), ahead = p->stages ? p->stages - 1 : 1;
  const double k_tiles = (double)ceil_div(p->part, depth);
  /* of a k-tile, for a block that is alone */
  const double own = fmax(fmax(s.issue / warps, DEPENDENT), unit) * depth + K_TILE;
  const double blocks = (double)ceil_div(p->blocks, machine->multiprocessors),
               turns = ceil(blocks / RESIDENT);
  double clocks =
      k_tiles * fmax(blocks * unit * depth, turns * fmax(own, (double)MEMORY / ahead)) + ENDS;
  if (p->parts > 1)
    clocks += (machine->launch + 2 * (double)grid_product_scratch(p) * machine->byte) / FMA;
  return clocks;
}

/* The sums of each chain by blocks of their own, where they are apart on the CPU, too. */
static bool may_divide(const GridMachine *machine, const GridProductShape *s,
                       const GridProductSchedule *p) {
  const int64_t of_b = s->bits ? s->n * s->bits / 32 : s->n; /* 4 bytes each */
  const int64_t elements = s->batch * (s->m + of_b) * s->k, sums = s->batch * s->m * s->n;
  return p->dt == DT_F32 && p->in == DT_F32 && !s->whole && s->k > DEPTH &&
         ceil_div(s->k, DEPTH) * sums <= elements / machine->scratch;
}

/* The clocks of the tile. */
static double choose_fma_tile(const GridMachine *machine, const GridProductShape *s,
                              GridProductSchedule *p) {
  GridProductSchedule best = {0};
  double least = INFINITY;
  const int most = may_divide(machine, s, p) ? 2 : 1;
  for (int divided = 0; divided < most; divided++)
    for (size_t i = dtype_size(p->dt) == 8 ? LARGE_TILES : 0;
         i < sizeof fma_tiles / sizeof *fma_tiles; i++) {
      if (fma_tiles[i].ring && (!s->async || p->in != p->dt || p->bits)) continue;
      GridProductSchedule c = *p;
      if (divided) c.part = DEPTH, c.parts = (int)ceil_div(c.k, DEPTH);
      if (!take_tile(machine, &c, &fma_tiles[i])) continue;
      const double clocks = fma_clocks(machine, &c);
      /* of tiles that wait for memory as long the smallest, which has the least to do besides */
      if (clocks < least || (clocks == least && c.parts == best.parts)) best = c, least = clocks;
    }
  *p = best;
  return least;
}

/* ---- on tensor cores ---- */

/* A warp's part is 64 x 64 where there is enough to do: with less of it shared memory could not
   feed the tensor cores. It takes 128 registers for sums and 64 for operands. The sizes are chosen
   by these counts, not measured on a device. Threads that make B's numbers have registers for them
   beside, and rows that there are not would cost more than they save. */
static void choose_tensor_tile(const GridMachine *machine, GridProductSchedule *p) {
  static const struct Tile {
    int bm, bn, wm, wn;
  } copied[] = {{128, 256, 64, 64}, {128, 128, 64, 64}, {64, 64, 32, 32}, {32, 32, 16, 16}},
    made[] = {{128, 256, 64, 64}, {128, 128, 32, 64}, {64, 128, 32, 64}, {64, 64, 32, 32},
              {32, 128, 16, 32},  {32, 64, 16, 32},   {32, 32, 16, 16}};
  const size_t n = p->bits ? sizeof made / sizeof *made : sizeof copied / sizeof *copied;
  for (size_t i = 0; i < n; i++) {
    const struct Tile *t = p->bits ? &made[i] : &copied[i];
    if (p->bits && t->bm > made[n - 1].bm && t->bm >= 2 * p->m) continue;
    p->bm = t->bm, p->bn = t->bn, p->wm = t->wm, p->wn = t->wn;
    p->shared = STAGE_ROW * (PIPELINE_STAGES * p->bm + (p->bits ? 2 : PIPELINE_STAGES) * p->bn);
    if (p->shared <= machine->shared && fills(machine, p)) break;
  }
  p->tm = p->wm / 8, p->tn = p->wn / 4, p->side = 2;
  p->threads = p->bm / p->wm * (p->bn / p->wn) * machine->warp;
  if (p->bits) p->copy_b = quantized_copy(p);
}

/* Products of few rows take the time that B takes from memory. A thread has the columns that a load
   of LOAD bytes reads; with B stored by columns, which go through shared memory, one. A block has a
   warp for each chain, up to as many as shared memory holds without a launch that asks for it. */
static bool choose_thin(const GridMachine *machine, GridProductSchedule *p) {
  enum { MOST_ROWS = 8, LOAD = 4, MOST_WARPS = 8 };
  const int size = dtype_size(p->dt);
  if (p->m > MOST_ROWS || !p->m || !p->n || !p->k) return false;
  int64_t warps = ceil_div(p->k, DEPTH);
  const int most = p->tb ? MOST_WARPS * 2 / size : MOST_WARPS;
  if (warps > most) warps = most;
  p->side = p->tb ? 1 : LOAD / dtype_size(p->in);
  if (p->side < 1) p->side = 1;
  while (p->n % p->side || p->b_row % p->side) p->side /= 2;
  p->tm = (int)ceil_div(p->m, warps), p->tn = p->side;
  p->bm = p->tm * (int)warps, p->bn = p->side * machine->warp;
  p->threads = (int)warps * machine->warp;
  return true;
}

/* A thread has loads of BYTES under way, twice as many of one or two rows, whose sums leave
   registers. With B stored by columns they are a power of two, which lanes share. Else there are as
   few steps of a chain as there can be, all as long, so that the last one is whole if it can be:
   otherwise it is compiled besides. */
int grid_thin_step(const GridProductSchedule *p) {
  enum { BYTES = 256, LEAST = 32 /* bytes */, UNIT = 4 };
  const int size = dtype_size(p->dt), copy = p->copy_b / dtype_size(p->in);
  int most = BYTES / size;
  if (p->tb) {
    while (most > LEAST / size && p->k <= most / 2 && copy <= most / 2) most /= 2;
    return most;
  }
  if (p->m < 3) most *= 2;
  const int64_t chain = p->k < DEPTH ? p->k : DEPTH;
  return UNIT * (int)ceil_div(chain, UNIT * ceil_div(chain, most));
}

/* The same on tensor cores, of halves: a block has a warp for each part of the depth, up to
   MOST_WARPS. A load reads up to LOAD bytes of adjacent columns: as many as leave enough warps,
   each of which has 8 KiB of B under way, on half of the multiprocessors at least. Of integers a
   load has a byte of each of up to QUANTIZED_LOAD columns. */
static bool choose_thin_tensor(const GridMachine *machine, const GridProductShape *s,
                               GridProductSchedule *p) {
  enum {
    MOST_ROWS = 16,
    MOST_WARPS = 8,
    LOAD = 16,
    QUANTIZED_LOAD = 8,
    GROUPS = 8,
    SIDE = 2,
    DEEP = 1 << 30
  };
  const int size = p->bits ? 1 : dtype_size(p->in), least = SIDE * size; /* bytes of a load */
  if (!dtype_is_half(p->in) || p->tb || s->whole || p->m > MOST_ROWS || p->k > DEEP || !p->m ||
      !p->n || !p->k)
    return false;
  const int parts = grid_product_parts(p), warps = parts < MOST_WARPS ? parts : MOST_WARPS;
  int load = p->bits ? QUANTIZED_LOAD : LOAD;
  while (p->n * size % load || p->b_row * size % load) load /= 2;
  if (load < least) return false;
  for (; load > least; load /= 2) {
    const int64_t blocks = p->batch * ceil_div(p->n, GROUPS * load / size);
    if (blocks * warps >= 2 * machine->blocks && 2 * blocks >= machine->blocks) break;
  }
  const int down = warps * machine->warp * SIDE * size / (GROUPS * load); /* rows side by side */
  p->copy_b = load;
  p->bn = GROUPS * load / size;
  p->tm = (int)ceil_div(p->m, down), p->bm = p->tm * down;
  p->tn = p->side = SIDE;
  p->threads = warps * machine->warp;
  p->wm = p->wn = 0;
  p->sums = 0;
  return true;
}

/* As many as registers hold, 96 of a thread at most if its integers have a byte: those of a step
   are B's, two words of A, or four of more than eight rows, and scales. */
int grid_thin_tensor_steps(const GridProductSchedule *p) {
  enum { FEW_ROWS = 8, STEP = 16, MOST = 16, UNDER_WAY = 256 };
  if (!p->bits) return UNDER_WAY / p->bn / (p->m > FEW_ROWS && p->bn < FEW_ROWS * FEW_ROWS ? 2 : 1);
  const bool wide = p->bits == 8 && p->copy_b > 4;
  return p->m > FEW_ROWS || p->group < STEP || wide ? MOST / 2 : MOST;
}

/* The same of a quantized matrix, whose numbers a thread makes of up to LOAD bytes of a row, one of
   each of its columns: of as many as take the fewest clocks by an estimate. Sums of a thread are
   SUMS at most. More than ROWS rows are tiles, each of which makes the numbers itself. With B
   stored by columns, whose bytes go through shared memory, a thread has one column. The clocks, as
   those of other tiles. */
static double choose_thin_quantized(const GridMachine *machine, GridProductSchedule *p) {
  enum { ROWS = 8, LOAD = 4, SUMS = 16, COPY = 16, MOST_WARPS = 8, MOST_WARPS_TB = 4 };
  int64_t warps = ceil_div(p->k, DEPTH);
  if (warps > (p->tb ? MOST_WARPS_TB : MOST_WARPS)) warps = p->tb ? MOST_WARPS_TB : MOST_WARPS;
  const int64_t rows = p->m < ROWS ? p->m : ROWS;
  double least = INFINITY;
  p->tm = (int)(p->m > ROWS ? ROWS / warps : ceil_div(p->m, warps));
  p->bm = p->tm * (int)warps;
  for (int side = p->tb ? 1 : LOAD; side; side /= 2) {
    /* instructions of four warps for one of the depth: of a number, of a load; clocks of a warp
       that waits for memory when it begins */
    enum { NUMBER = 3, BYTE = 4, WAIT = 1 };
    if (p->n % side || side * rows > SUMS) continue;
    const int64_t blocks = ceil_div(p->n, side * machine->warp) * ceil_div(p->m, p->bm);
    const double resident = (double)ceil_div(blocks, machine->multiprocessors);
    const double work = (double)((rows + NUMBER) * side) + BYTE * p->bits / 8.0;
    const double clocks = resident * work * (double)warps / 4 + WAIT / resident;
    if (clocks < least) least = clocks, p->side = side;
  }
  p->thin = true;
  p->copy_b = p->side;
  for (int copy = 1; p->tb && copy <= COPY && p->b_row % copy == 0; copy *= 2) p->copy_b = copy;
  p->tn = p->side;
  p->bn = p->side * machine->warp;
  p->threads = (int)warps * machine->warp;
  return least * (double)p->k / (double)warps;
}

static void choose_quantized(const GridMachine *machine, const GridProductShape *s,
                             GridProductSchedule *p) {
  enum { LEAST_GROUP = 16 }; /* that leaves a thread registers beside the scales */
  GridProductSchedule thin = *p;
  const double clocks = choose_thin_quantized(machine, &thin);
  const double of_tile = choose_fma_tile(machine, s, p);
  if (clocks <= of_tile && p->group >= LEAST_GROUP && p->in == DT_F32) *p = thin;
}

bool grid_product_is_quantized(const GridMachine *machine, const GridProductShape *s) {
  enum { LEAST_GROUP = 8, WORD = 4 };
  return (s->bits == 8 || s->bits == 4) && s->m && s->n && s->k && DEPTH % s->group == 0 &&
         s->group >= LEAST_GROUP && (!s->tb || s->b_row % WORD == 0) &&
         (!s->tensor || product_dequantizes(machine, s));
}

uint64_t grid_product_scratch(const GridProductSchedule *p) {
  if (p->tensor) return p->sums;
  return p->parts > 1 ? (uint64_t)p->parts * (uint64_t)(p->batch * p->m * p->n) * sizeof(float) : 0;
}

static int64_t most_parts(int64_t blocks, int64_t tiles, int64_t k) {
  const int64_t parts = tiles ? blocks / tiles : 0, of_depth = k / DEPTH_LEAST;
  const int64_t most = parts < of_depth ? parts : of_depth;
  return most < 2 ? 0 : most;
}

/* Whether a run may have three parts, in tiles of twice the columns (depth_part), if it has `least`
   or more of the batch's products and rows, and at most those of the schedule; of few rows none
   has. */
static bool may_have_three(const GridMachine *machine, const GridProductShape *s,
                           const GridProductSchedule *p) {
  const int64_t down = ceil_div(s->least_m, DEPTH_ROWS), most_down = ceil_div(p->m, DEPTH_ROWS);
  return p->m > DEPTH_FEW &&
         DEPTH_THREE * s->least_batch * down * ceil_div(p->n, 2 * DEPTH_COLUMNS) <=
             machine->blocks &&
         2 * p->batch * most_down * ceil_div(p->n, DEPTH_COLUMNS) > machine->blocks;
}

/* Parts of the depth: a function of the shape alone, which a quantized operand does not change.
   Where a run decides the shape, it evaluates the same function; sums of its parts take no more
   bytes than its operands, nor than those of tiles for all multiprocessors. */
static void choose_parts(const GridMachine *machine, const GridProductShape *s,
                         GridProductSchedule *p) {
  const int size = dtype_size(p->in);
  p->parts = 1, p->part = p->k;
  if (!p->tensor) return;
  p->part = depth_part(machine->blocks, p->batch, p->m, p->n, p->k, size);
  if (p->part < p->k) p->parts = (int)ceil_div(p->k, p->part);
  const int64_t sums = p->batch * p->m * p->n;
  p->sums = p->parts > 1 ? (uint64_t)(p->parts * sums) * sizeof(float) : 0;
  if (!s->varies || p->k <= DEPTH_SAVED) return;
  const int64_t tiles =
      s->least_batch * ceil_div(s->least_m, DEPTH_ROWS) * ceil_div(p->n, DEPTH_COLUMNS);
  const int64_t most = most_parts(machine->blocks, tiles, p->k),
                of_few = s->least_m > DEPTH_FEW
                             ? 0
                             : most_parts((int64_t)DEPTH_WARPS * machine->blocks, tiles, p->k);
  const bool three = may_have_three(machine, s, p);
  if (most < 2 && of_few < 2 && !three) return;
  p->most = (int)(most > of_few ? most : of_few);
  if (three && p->most < DEPTH_THREE) p->most = DEPTH_THREE;
  const int64_t few = p->m < DEPTH_FEW ? p->m : DEPTH_FEW,
                sums_of_few = of_few * p->batch * few * p->n;
  const int64_t of_rows = (three && most < DEPTH_THREE ? DEPTH_THREE : most) * sums;
  const uint64_t all = (uint64_t)(of_rows > sums_of_few ? of_rows : sums_of_few) * sizeof(float),
                 operands = (uint64_t)(p->batch * p->k * (p->m + p->n) * size),
                 of_tiles = (uint64_t)machine->blocks * DEPTH_ROWS * DEPTH_COLUMNS *
                            (three ? 2 : 1) * sizeof(float);
  p->sums = all < operands ? all : operands;
  if (p->sums > of_tiles) p->sums = of_tiles;
}

/* Bytes of the widest copy that rows of n elements allow. */
static int copy_of(int64_t n, Dtype dt) {
  int bytes = 16;
  while (n * dtype_size(dt) % bytes) bytes /= 2;
  return bytes;
}

GridProductSchedule grid_product_schedule(const GridMachine *machine, const GridProductShape *s) {
  GridProductSchedule p = {.batch = s->batch,
                           .m = s->m,
                           .n = s->n,
                           .k = s->k,
                           .ta = s->ta,
                           .tb = s->tb,
                           .in = s->in,
                           .dt = product_dtype(s->in),
                           .tensor = s->tensor,
                           .a_row = s->a_row,
                           .b_row = s->b_row,
                           .copy_a = copy_of(s->a_row, s->in),
                           .copy_b = copy_of(s->b_row, s->in),
                           .bits = s->bits,
                           .group = s->group,
                           .varies = s->varies};
  choose_parts(machine, s, &p);
  if (p.bits && !p.tensor)
    choose_quantized(machine, s, &p);
  else if (p.tensor) {
    p.thin = choose_thin_tensor(machine, s, &p);
    if (!p.thin) choose_tensor_tile(machine, &p);
  } else if (!(p.thin = choose_thin(machine, &p)))
    choose_fma_tile(machine, s, &p);
  p.busy = fills(machine, &p);
  p.across = ceil_div(p.n, p.bn);
  p.blocks = p.across * ceil_div(p.m, p.bm) * p.batch * (grid_product_within(&p) ? 1 : p.parts);
  return p;
}

#define FIELD(f) SCHEDULE_FIELD(GridProductSchedule, f)
const ScheduleKind grid_product_kind = {
    "product",
    (const ScheduleField[]){FIELD(batch), FIELD(m),      FIELD(n),    FIELD(k),      FIELD(a_row),
                            FIELD(b_row), FIELD(tensor), FIELD(bm),   FIELD(bn),     FIELD(wm),
                            FIELD(wn),    FIELD(tm),     FIELD(tn),   FIELD(copy_a), FIELD(copy_b),
                            FIELD(side),  FIELD(busy),   FIELD(thin), FIELD(parts),  FIELD(part),
                            FIELD(most),  FIELD(stages), FIELD(bits), FIELD(group),  {0}}};
