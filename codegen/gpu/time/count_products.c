/* Counts of products: by wgmma, on tensor cores and on ordinary units; see counting.h. */
#include "codegen/gpu/time/counting.h"

#include "codegen/schedule/product.h"

#include <math.h>

enum {
  WGMMA_REGISTERS = 168, /* of a thread, on the mean of the warpgroups: those of 65,536 that 384
                           threads have */
  LEFT_LOADS = 8,        /* of a warp for a k-tile on wgmma whose left operand is in registers */
  COPY = 6,              /* of a copy of a phase */
  LEFT_CLOCKS = 60       /* of them that nothing covers: two shared loads that are waited for */
};

/* Bytes from memory of operands that a wave of blocks reads: all of them once where they fit into
   L2, else the rows and columns of each wave, which is `down` tiles high. */
static double product_bytes(const Counting *n, double m, double k, double columns, double bm,
                            double bn, double size, double down) {
  double operands = (m + columns) * k * size;
  double across = n->d->sms / down;
  double tiles = ceil(m / bm) * ceil(columns / bn);
  double waves = ceil(tiles / n->d->sms);
  double rows = down * bm < m ? down * bm : m, wide = across * bn < columns ? across * bn : columns;
  double all = waves * (rows + wide) * k * size;
  if (operands <= n->d->l2 || all < operands) return operands;
  return all;
}

/* Bytes of an element of B, with its part of a scale if it is quantized. */
static double right_size(const GridProductSchedule *p) {
  enum { SCALE = 2 };
  return p->bits ? p->bits / 8.0 + SCALE / (double)p->group : dtype_size(p->in);
}

static double operand_bytes(const GridProductSchedule *p) {
  return (double)p->batch * (double)p->k *
         ((double)p->m * dtype_size(p->in) + (double)p->n * right_size(p));
}

/* Of a block: stores of the sums of a part in place of the work fused behind. */
static double count_ends(Counting *n, const GridProductSchedule *p, double of_block, double store) {
  if (p->parts == 1) return count_epilogue(n, of_block, store);
  n->c.lines += of_block / WARP;
  n->c.least_bytes = operand_bytes(p);
  return of_block / WARP * (1 + ADDRESS);
}

static double partial_bytes(const GridProductSchedule *p) {
  return p->parts > 1 ? (double)(p->parts * p->batch * p->m * p->n) * sizeof(float) : 0;
}

double count_epilogue(Counting *n, double of_block, double store) {
  double each = counting_price(n, n->gr->domain) + 2, loads = 0;
  for (int i = 0; i < n->gr->nin; i++)
    if (value_type(n->gr->e, n->gr->in[i])->numel >= n->gr->domain->numel) loads++;
  n->c.lines += of_block / WARP * store * (n->gr->nout + loads);
  return of_block / WARP * (each + ADDRESS * (n->gr->nout + loads) / 2);
}

/* Bytes of all blocks' tiles: what lies outside of a matrix is not loaded. */
static double product_l2(const Counting *n, const GridProductSchedule *p, double k) {
  double rows = p->m < p->bm ? (double)p->m : p->bm, columns = p->n < p->bn ? (double)p->n : p->bn;
  return n->c.blocks * (rows * dtype_size(p->in) + columns * right_size(p)) * k + n->c.least_bytes +
         partial_bytes(p);
}

/* Lines that a warp's load of integers touches, and its load of scales: those of columns side by
   side, or of each column's own, whose k-tile of so much depth threads side by side load. */
static double quantized_lines(const GridProductSchedule *p, double depth) {
  const double of_column = ceil(depth / (p->copy_b * 8.0 / p->bits)); /* threads */
  if (p->tb) return 2 * ceil(WARP / of_column);
  return p->copy_b > 4 ? 3 * WARP * p->copy_b / (double)LINE : 2; /* scales have two bytes */
}

/* Instructions that make two numbers of halves: bytes put into place, of four bits shifted there,
   by fours; a float of each, of which two are made at once; and factors. */
static double of_pair(const GridProductSchedule *p) { return p->bits == 8 ? 5 : 4.25; }

/* Numbers of integers on their way to shared memory, with their loads and those of scales. */
static void count_made(Counting *n, const GridProductSchedule *p, double k) {
  enum { SCALE = 3 };
  GpuCounts *c = &n->c;
  const double numbers = k * p->bn / WARP, loads = k * p->bn * p->bits / 8 / p->copy_b / WARP;
  c->fma += numbers;
  c->issue += numbers / 2 * of_pair(p) + loads * (2 * (1 + ADDRESS) + SCALE);
  c->accesses += 2 * loads + numbers / 4;
  c->lines += loads * quantized_lines(p, STAGE_ROW / (double)dtype_size(p->in));
}

/* Issue slots for operands that are rounded as they come from shared memory: a conversion of each
   of the four registers of a matrix, at half of the rate of other instructions. */
static double roundings(const Counting *n, const GridProductSchedule *p, double steps) {
  enum { OF_MATRIX = 8, SIDE = 16 };
  const Op *mm = n->gr->root;
  if (mm->kind != OP_MATMUL) return 0;
  const double sides = (mm->attr[AT_ROUND_A].i ? p->wm : 0) + (mm->attr[AT_ROUND_B].i ? p->wn : 0);
  return steps * sides / SIDE * OF_MATRIX;
}

static void count_tensor_product(Counting *n, const GridProductSchedule *p) {
  GpuCounts *c = &n->c;
  if (p->most) c->blocks = (double)p->blocks; /* those of more parts return */
  double size = dtype_size(p->in), depth = STAGE_ROW / size, warps = c->threads / (double)WARP;
  double k_tiles = ceil((double)p->part / depth), k = k_tiles * depth;
  double tile = (double)p->bm * p->bn, steps = k_tiles * 2;
  double tf32 = size == 4 ? 2 : 1;
  double mma = warps * steps * (p->wm / 16.0) * (p->wn / 8.0);
  double matrices = warps * steps * (p->wm / 16.0 + p->wn / 16.0);
  c->mma = tile * k * tf32;
  const double of_b = p->bits ? 0 : (double)p->bn / p->copy_b;
  double copies = k_tiles * STAGE_ROW / WARP * ((double)p->bm / p->copy_a + of_b); /* of warps */
  double small = (p->copy_a < 4 ? p->bm : 0) + (p->copy_b < 4 && !p->bits ? p->bn : 0);
  c->issue = mma + matrices * (1 + (size == 4 ? 3 : 0)) + roundings(n, p, warps * steps) +
             copies * 2 + warps * (START + k_tiles * K_TILE) +
             k_tiles * STAGE_ROW / 2.0 / WARP * small * 2 * ADDRESS;
  double row_a = p->ta ? p->bm * size : STAGE_ROW, row_b = p->tb ? STAGE_ROW : p->bn * size;
  /* a warp's copy of `copy` bytes a thread touches so many rows */
  double lines_a = ceil(WARP * p->copy_a / (row_a < LINE ? row_a : LINE));
  double lines_b = ceil(WARP * p->copy_b / (row_b < LINE ? row_b : LINE));
  c->accesses = matrices * (size == 4 ? MATRIX : 1) + copies;
  c->wavefronts = matrices * MATRIX + k_tiles * STAGE_ROW * (p->bm + p->bn) / LINE;
  c->lines = k_tiles * STAGE_ROW / WARP * ((double)p->bm / p->copy_a * lines_a + of_b * lines_b);
  c->issue += count_ends(n, p, tile, 0.5);
  if (p->bits) count_made(n, p, k);
  c->waits = 2;
  /* threads wait for copies of 2 bytes, eight at a time */
  c->l2_waits += k_tiles * ceil(small * STAGE_ROW / 2 / c->threads / 8);
  enum { MADE_AHEAD = 2 }; /* k-tiles whose integers are on their way */
  c->covered = k_tiles / (p->bits ? MADE_AHEAD : PIPELINE_STAGES - 1);
  /* a barrier a k-tile, and the first instructions behind it */
  c->chain = k_tiles * 2 * MMA_CLOCKS;
  c->registers = p->wm * p->wn / WARP + 2 * (p->wm / 16 * 4 + p->wn / 16 * 4) + OTHER_REGISTERS;
  c->l2_bytes = product_l2(n, p, k);
  const double like_a = right_size(p) / size; /* columns of B, of as many bytes as A's rows */
  c->bytes = (double)p->batch * product_bytes(n, (double)p->m, (double)p->k, (double)p->n * like_a,
                                              p->bm, p->bn * like_a, size, 8) +
             c->least_bytes - operand_bytes(p) + partial_bytes(p);
}

/* Blocks go from tile to tile: a warpgroup copies k-tiles, two others multiply 64 rows each. */
static void count_wgmma_product(Counting *n, const GridProductSchedule *plain) {
  GpuCounts *c = &n->c;
  GridProductSchedule p;
  if (!wgmma_schedule(plain, &p)) gc_bug(n->g->ctx, "a product for sm_90a has no schedule");
  double size = dtype_size(p.in), k_tiles = (double)ceil_div(p.part, wgmma_depth(&p));
  double tiles = (double)wgmma_tiles(&p);
  c->blocks = (double)p.blocks;
  c->threads = p.threads;
  c->shared = p.shared;
  c->registers = WGMMA_REGISTERS;
  double each = ceil(tiles / c->blocks), row = WGMMA_ROW; /* tiles of a block; bytes */
  const double columns = wgmma_columns(&p), groups = 2;   /* that read B's k-tile each */
  const double reads = groups * (WGMMA_ROWS / groups + columns) * row / LINE;
  c->wgmma = each * p.bm * p.bn * k_tiles * wgmma_depth(&p) * (size == 4 ? 2 : 1);
  c->wavefronts = each * k_tiles * (reads + (p.bm + p.bn) * row / LINE);
  c->issue = each * count_ends(n, &p, (double)p.bm * p.bn, 0.5);
  c->lines *= each;
  c->parts = 2;
  c->covered = each * k_tiles / (wgmma_stages(&p) - 1);
  c->chain = each * (k_tiles * WGMMA_CLOCKS + WGMMA_ENDS);
  const double warps = c->threads / (double)WARP - 4; /* that multiply */
  if (size == 4 && (p.turned || p.ta)) {              /* the left operand comes from registers */
    c->issue += each * k_tiles * LEFT_LOADS * warps;
    c->chain += each * k_tiles * LEFT_CLOCKS;
  }
  double rows = WGMMA_ROWS; /* of A's k-tile, in sectors that its rows fill */
  if (p.phased) {
    c->issue += each * k_tiles * WGMMA_PHASES * COPY;
    rows *= (row + SECTOR) / row;
  }
  c->l2_bytes =
      tiles * (rows + columns / p.cluster) * k_tiles * row + c->least_bytes + partial_bytes(&p);
  c->received = tiles * (rows + columns) * k_tiles * row + c->least_bytes + partial_bytes(&p);
  double operands = (double)p.batch * (double)(p.m + p.n) * (double)p.k * size;
  c->bytes = (double)p.batch *
                 product_bytes(n, (double)p.m, (double)p.k, (double)p.n, p.bm, p.bn, size, 8) +
             c->least_bytes - operands + partial_bytes(&p);
}

void count_fma_tile(Counting *n, double steps, int bm, int bn, int tm, int tn, bool f64) {
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, of_thread = (double)tm * tn;
  double vectors = ceil(tm / 4.0) + ceil(tn / 4.0);
  double fma = warps * steps * of_thread;
  c->shared += FMA_DEPTH * (bm + bn + FMA_PADDING) * (f64 ? 8 : 4);
  if (f64)
    c->fma64 = fma;
  else
    c->fma = fma;
  c->issue = fma + warps * steps * (tm % 4 ? tm + tn / 4.0 : vectors);
  c->wavefronts = warps * steps *
                  (ceil(tm / 4.0) * (tm < 4 ? 1 : 2) + ceil(tn / 4.0) * (tn < 4 ? 1 : 2)) *
                  (f64 ? 2 : 1);
  double loads = steps * (bm + bn) / WARP; /* of warps: an element a thread */
  c->issue += loads * (2 + ADDRESS);
  c->accesses = warps * steps * (tm % 4 ? tm + tn / 4.0 : vectors) + 2 * loads;
  c->wavefronts += loads; /* their stores */
  c->lines = loads * 2;
  c->waits = 2;
  c->l2_waits = steps / FMA_DEPTH / 4; /* what the multiplication of a k-tile does not cover */
  c->chain = steps / FMA_DEPTH * FMA_CLOCKS;
  c->registers = (int)of_thread * 2 + 2 * (tm + tn) + OTHER_REGISTERS;
  if (f64) c->registers = c->registers * 3 / 2;
}

/* The same by a ring of k-tiles: those that are on their way cover the wait for memory. */
static void count_ring(Counting *n, const GridProductSchedule *p, double steps) {
  /* of a copy of 16 bytes; clocks of an fma, and of a step of the last k-tile if it is a part */
  enum { COPY_LINES = 4, DEPENDENT = 4, ALONE = 12, MOST_REGISTERS = 255 };
  GpuCounts *c = &n->c;
  const GridStep s = grid_product_step(p);
  const double warps = c->threads / (double)WARP, k_tiles = steps / RING_DEPTH;
  if (p->dt == DT_F64)
    c->fma64 = steps * s.fma;
  else
    c->fma = steps * s.fma;
  c->issue = steps * s.issue + warps * (START + k_tiles * K_TILE / 2.0);
  c->accesses = steps * (s.loads + s.copies);
  c->wavefronts = steps * s.wavefronts;
  c->lines = steps * s.copies * COPY_LINES;
  c->waits = 1;
  c->covered = k_tiles / (p->stages - 1);
  const double sums = p->tm * p->tn; /* of a thread, which do not wait for each other */
  c->chain = k_tiles * FMA_CLOCKS + (sums < DEPENDENT ? steps * (DEPENDENT - sums) : 0) +
             (double)(p->part % RING_DEPTH) * ALONE;
  if (!p->shared) c->shared += p->stages * grid_ring_bytes(p);
  c->registers = (int)sums * 2 + 8 * (p->tm + p->tn) + OTHER_REGISTERS;
  if (c->registers > MOST_REGISTERS) c->registers = MOST_REGISTERS;
}

/* The same of a quantized matrix, whose numbers are made on their way to shared memory. */
static void count_quantized_tile(Counting *n, const GridProductSchedule *p, double steps) {
  enum { OF_NUMBER = 2, F32 = 4 }; /* a difference and a factor */
  GpuCounts *c = &n->c;
  const GridStep s = grid_product_step(p);
  const double warps = c->threads / (double)WARP, k_tiles = steps / GEMM_DEPTH;
  const double loads =
      p->bn * p->bits / 8.0 / p->copy_b / WARP; /* of integers, and as many of scales */
  c->fma = steps * (s.fma + OF_NUMBER * p->bn / (double)WARP);
  c->issue = steps * s.issue + warps * (START + k_tiles * K_TILE / 2.0);
  c->accesses = steps * (s.loads + s.copies + p->bm / (double)WARP);
  c->wavefronts = steps * s.wavefronts;
  c->lines = steps * (p->bm / (double)WARP * 2 + loads * quantized_lines(p, GEMM_DEPTH));
  c->waits = 2;
  c->l2_waits = k_tiles / 4; /* what the multiplication of a k-tile does not cover */
  c->chain = k_tiles * FMA_CLOCKS;
  c->shared += GEMM_DEPTH * (p->bm + p->bn + FMA_PADDING) * F32;
  c->registers = p->tm * p->tn * 2 + 2 * (p->tm + p->tn) + OTHER_REGISTERS +
                 GEMM_DEPTH * (p->bm + p->bn / F32) / c->threads;
}

static void count_fma_product(Counting *n, const GridProductSchedule *p) {
  GpuCounts *c = &n->c;
  const int depth = grid_product_depth(p);
  const double size = dtype_size(p->in), k = (double)ceil_div(p->part, depth) * depth;
  if (p->bits)
    count_quantized_tile(n, p, k);
  else if (p->stages)
    count_ring(n, p, k);
  else
    count_fma_tile(n, k, p->bm, p->bn, p->tm, p->tn, p->dt == DT_F64);
  c->issue += count_ends(n, p, (double)p->bm * p->bn, 1);
  c->l2_bytes = product_l2(n, p, k);
  const double of_b = right_size(p) / size; /* columns of B, of as many bytes as A's rows */
  c->bytes = (double)p->batch * product_bytes(n, (double)p->m, (double)p->k, (double)p->n * of_b,
                                              p->bm, p->bn * of_b, size, 1) +
             c->least_bytes - operand_bytes(p) + partial_bytes(p);
}

/* A warp for each chain: a load of B for each number of the depth, with which it multiplies all
   rows. */
static void count_thin_product(Counting *n, const GridProductSchedule *p) {
  enum { CHAIN = 1024, CLOCKS = 4 /* of a dependent fma */ };
  GpuCounts *c = &n->c;
  const double size = dtype_size(p->in), number = dtype_size(p->dt),
               warps = c->threads / (double)WARP;
  const double k = (double)p->k, m = (double)p->m;
  const double step = grid_thin_step(p);
  const double of_warp = k < CHAIN * warps ? ceil(k / warps) : CHAIN * ceil(k / CHAIN / warps);
  const double fma = k * m * p->side,
               loads = k * p->bn * size / WARP / (p->tb ? p->copy_b : p->side * size);
  const double converted = p->in != p->dt ? k * p->side : 0, a = k / step * ceil(m * step / WARP);
  const double through = p->tb ? k * p->side : 0; /* shared memory, and back */
  if (counting_is_f64(n))
    c->fma64 = fma;
  else
    c->fma = fma;
  c->issue = fma + k * m / 4 + loads * (1 + ADDRESS / 2.0) + converted + a * (2 + ADDRESS) +
             2 * through + warps * START;
  c->accesses = loads + k * m / 4 + 2 * a + 2 * through;
  c->wavefronts = k * m / 4 + a + 2 * through * number / 4;
  c->lines = k * p->bn * size / LINE + a;
  c->waits = ceil(of_warp / step);
  c->chain = of_warp * CLOCKS;
  c->registers = (int)(step * number / 4 + m * p->side) + OTHER_REGISTERS;
  c->shared = (int)(warps * number * (m * (step + p->bn) + (p->tb ? WARP * (step + 1) : 0)));
  c->issue += count_epilogue(n, m * p->bn, 1);
  c->bytes = c->l2_bytes = c->least_bytes;
  c->l2_bytes += (c->blocks - (double)p->batch) * m * k * size;
}

/* Numbers of integers in registers for tensor cores; a load of the scales of a group, which are put
   into both halves of words. */
static void count_made_in_registers(Counting *n, const GridProductSchedule *p) {
  enum { UNIT = 64 };
  GpuCounts *c = &n->c;
  const double pairs = (double)p->k * p->bn / 2 / WARP, columns = p->bn / 8.0;
  const double groups = (double)p->k / (p->group < UNIT ? (double)p->group : UNIT);
  c->fma += 2 * pairs;
  c->issue += of_pair(p) * pairs + groups * (columns + 1 + ADDRESS);
  c->accesses += groups;
  c->lines += groups * columns * 16 / LINE;
}

/* On tensor cores a warp does a part of the depth: instructions have 16 rows. */
static void count_thin_tensor(Counting *n, const GridProductSchedule *p) {
  enum { STEP = 16, ROWS = 16, SUM_CLOCKS = 30 };
  GpuCounts *c = &n->c;
  const double warps = c->threads / (double)WARP, m = (double)p->m, columns = p->bn / 8.0;
  const double steps = ceil((double)p->k / STEP), turns = ceil(p->parts / warps);
  const double of_warp = turns * ceil((double)p->part / STEP);
  const double ahead = grid_thin_tensor_steps(p);
  const double a = steps * (p->m > 8 ? 4 : 2), b = steps * 4 * (p->bits == 4 ? 0.5 : 1),
               sums = p->parts * m * p->bn / WARP;
  c->mma = steps * STEP * ROWS * p->bn;
  c->parts = warps < p->parts ? warps : p->parts; /* warps meet when all have their sums */
  c->issue = steps * columns * 3 + b * (1 + ADDRESS / 4.0) + a * (1 + ADDRESS / 2.0) + 3 * sums +
             warps * START + count_epilogue(n, m * p->bn, 0.5);
  c->accesses = a + b + 2 * sums;
  c->wavefronts = 2 * sums;
  c->lines += 4 * b + a * (m < 8 ? m : 8);
  c->waits = turns * ceil(of_warp / turns / ahead);
  c->chain = of_warp * MMA_CLOCKS + p->parts * SUM_CLOCKS;
  const double words = p->bits ? b / steps * ceil(columns / 4) : columns * 2; /* of B in a step */
  c->registers = (int)(ahead * (words + (p->m > 8 ? 4 : 2)) + columns * 4) + OTHER_REGISTERS;
  c->shared = (int)(warps * m * p->bn) * (int)sizeof(float);
  c->bytes = c->l2_bytes = c->least_bytes;
  c->l2_bytes += (c->blocks - (double)p->batch) * m * (double)p->k * dtype_size(p->in);
  if (p->bits) count_made_in_registers(n, p);
}

/* The same of a quantized matrix: a thread makes numbers of bytes, each for all rows of the tile.
 */
static void count_thin_quantized(Counting *n, const GridProductSchedule *p) {
  /* NUMBER: bits put into place, a difference and a factor; beside them an instruction for a word.
     SCALE: a shift and its part of a load. Between dependent fma lie those of other numbers. */
  enum { LOADS = 32, STEP = 64, LONG_STEP = 128, CHAIN = 1024, NUMBER = 3, SCALE = 2, WORD = 4 };
  GpuCounts *c = &n->c;
  const double warps = c->threads / (double)WARP, k = (double)p->k,
               step = !p->tb && p->side > 1                 ? LOADS * 8.0 / p->bits
                      : p->tb || (p->m < 3 && p->bits == 4) ? LONG_STEP
                                                            : STEP;
  const double m = p->m < p->bm ? (double)p->m : p->bm, side = p->side;
  const double bytes = k * p->bits / 8 * p->bn; /* of a block */
  const double of_warp = k < CHAIN * warps ? ceil(k / warps) : CHAIN * ceil(k / CHAIN / warps);
  const double numbers = k * side, groups = ceil(k / (double)p->group) * side;
  const double words = numbers * p->bits / 8 / (p->tb ? WORD : side);
  const double loads = bytes / WARP / p->copy_b, a = k / step * ceil(m * step / WARP);
  const double through = p->tb ? bytes / WARP / 4 : 0; /* shared memory, and back */
  const double scale_loads = groups / (p->tb ? ceil(step / (double)p->group) : side);
  c->fma = numbers * m + 2 * numbers;
  c->issue = numbers * (m + NUMBER) + words + k * m / 4 +
             (loads + scale_loads) * (1 + ADDRESS / 2.0) + groups * SCALE + a * (2 + ADDRESS) +
             2 * through + warps * START;
  c->accesses = loads + scale_loads + k * m / 4 + 2 * a + 2 * through;
  c->wavefronts = k * m / 4 + a + 2 * through;
  c->lines = bytes / (p->tb ? LINE : WARP * side) + scale_loads * (p->tb ? WARP : 1) + a;
  c->waits = 1;
  c->covered = ceil(of_warp / step); /* the next step is loaded meanwhile */
  c->registers =
      (int)(step * p->bits / 8 * side / (p->tb ? 4 : 1)) + (int)(m * side) + OTHER_REGISTERS;
  c->shared = (int)(warps * (m * (step > p->bn ? step : p->bn) * 4 +
                             (p->tb ? p->bn * (step * p->bits / 8 + 4) : 0)));
  c->issue += count_epilogue(n, m * p->bn, 1);
  c->bytes = c->l2_bytes = c->least_bytes;
  const double down = (double)ceil_div(p->m, p->bm), across = c->blocks / down;
  c->l2_bytes += (across - 1) * (double)p->m * k * 4 + (down - 1) * across * bytes;
}

/* A thread adds up the parts of a few elements of C. */
static void count_combine(Counting *n, const GridProductSchedule *p) {
  GpuCounts *c = &n->c;
  const double warps = c->threads / (double)WARP, parts = p->parts,
               all = (double)(p->batch * p->m * p->n), elements = all / c->blocks;
  c->least_flops = 0;
  if (p->parts == 1) { /* at the bounds, where it has nothing to do */
    c->least_bytes = c->bytes = c->l2_bytes = 0;
    c->issue = warps * START;
    return;
  }
  c->least_bytes -= operand_bytes(p);
  c->issue = warps * START + elements / WARP * parts * 2 + count_epilogue(n, elements, 0.5);
  c->accesses = elements / WARP * parts;
  c->lines += elements / WARP * parts;
  c->parts = warps;
  c->waits = 1 + ceil(parts / 8);
  c->bytes = c->l2_bytes = c->least_bytes + partial_bytes(p);
}

void count_product(Counting *n, const void *schedule) {
  const GridProductSchedule *p = schedule;
  if (counting_is_part(n, "combine"))
    count_combine(n, p);
  else if (n->f->sm90a && n->d->wgmma)
    count_wgmma_product(n, p);
  else if (grid_product_within(p))
    count_thin_tensor(n, p);
  else if (p->bits && p->thin)
    count_thin_quantized(n, p);
  else if (p->tensor)
    count_tensor_product(n, p);
  else if (p->thin)
    count_thin_product(n, p);
  else
    count_fma_product(n, p);
}
