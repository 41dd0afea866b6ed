/* Counts of kernels that multiply tiles: products by wgmma, on tensor cores and on ordinary units,
   convolutions and their gradients; and of convolutions and pools without tiles; see counting.h. */
#include "codegen/gpu/time/counting.h"

#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/product.h"
#include "codegen/schedule/wgmma_filter.h"
#include "ir/op/window.h"

#include <math.h>

enum {
  F32 = 4,               /* bytes */
  K_TILE = 60,           /* instructions of a warp in a k-tile beside copies, loads and mma: the
                            barrier, the loop, and the addresses of the next copies */
  ONE_TAP = 5,           /* ... of an element gathered by a convolution whose k-tile has one tap */
  TABLE = 10,            /* ... of one whose place a table says, tap by tap */
  FMA_DEPTH = 16,        /* of a k-tile on ordinary units, as printed (text/gemm.h) */
  FMA_PADDING = 8,       /* elements of a row of its tiles that keep banks apart, both operands */
  FMA_CLOCKS = 60,       /* of such a k-tile that nothing covers: two barriers, a shared load */
  WGMMA_CLOCKS = 100,    /* of a k-tile on wgmma: calibrated, docs/time-model.md */
  WGMMA_ENDS = 4000,     /* of a tile on wgmma: its first k-tile's way from memory, and the results
                            that it stores while no product runs */
  WGMMA_REGISTERS = 168, /* of a thread, on the mean of the warpgroups: those of 65,536 that 384
                            threads have */
  WGMMA_FILTER_REGISTERS = 128, /* ... where 512 do */
  OTHER_REGISTERS = 48 /* of a thread, beside accumulators and operands: addresses, counters */
};
/* Both branches of padding run, and share a quarter of their loads. */
static const double BOTH_PATHS = 1.75;

/* ---- products ---- */

/* Bytes from memory of operands that a wave of blocks reads: all of them once where they fit into
   L2, else the rows and columns of each wave, which is `down` tiles high. */
static double product_bytes(const Counting *n, double m, double k, double columns, double bm,
                            double bn, double size, double down) {
  double operands = (m + columns) * k * size;
  double across = n->d->sms / down;
  double tiles = ceil(m / bm) * ceil(columns / bn);
  double waves = ceil(tiles / n->d->sms);
  double all = waves * (down * bm + across * bn) * k * size;
  if (operands <= n->d->l2 || all < operands) return operands;
  return all;
}

static double epilogue(Counting *n, double of_block, double store) {
  double each = counting_price(n, n->gr->domain) + 2, loads = 0;
  for (int i = 0; i < n->gr->nin; i++)
    if (value_type(n->gr->e, n->gr->in[i])->numel >= n->gr->domain->numel) loads++;
  n->c.lines += of_block / WARP * store * (n->gr->nout + loads);
  return of_block / WARP * (each + ADDRESS * (n->gr->nout + loads) / 2);
}

/* Bytes of all blocks' tiles: what lies outside of a matrix is not loaded. */
static double product_l2(const Counting *n, const GridProductSchedule *p, double k) {
  double rows = p->m < p->bm ? (double)p->m : p->bm, columns = p->n < p->bn ? (double)p->n : p->bn;
  return n->c.blocks * (rows + columns) * k * dtype_size(p->in) + n->c.least_bytes;
}

static void count_tensor_product(Counting *n, const GridProductSchedule *p) {
  GpuCounts *c = &n->c;
  double size = dtype_size(p->in), depth = STAGE_ROW / size, warps = c->threads / (double)WARP;
  double k_tiles = ceil((double)p->k / depth), k = k_tiles * depth;
  double tile = (double)p->bm * p->bn, steps = k_tiles * 2;
  double tf32 = size == 4 ? 2 : 1;
  double mma = warps * steps * (p->wm / 16.0) * (p->wn / 8.0);
  double matrices = warps * steps * (p->wm / 16.0 + p->wn / 16.0);
  c->mma = tile * k * tf32;
  double copies = k_tiles * STAGE_ROW / WARP *
                  ((double)p->bm / p->copy_a + (double)p->bn / p->copy_b); /* of warps */
  double small = (p->copy_a < 4 ? p->bm : 0) + (p->copy_b < 4 ? p->bn : 0);
  c->issue = mma + matrices * (1 + (size == 4 ? 3 : 0)) + copies * 2 +
             warps * (START + k_tiles * K_TILE) +
             k_tiles * STAGE_ROW / 2.0 / WARP * small * 2 * ADDRESS;
  double row_a = p->ta ? p->bm * size : STAGE_ROW, row_b = p->tb ? STAGE_ROW : p->bn * size;
  /* a warp's copy of `copy` bytes a thread touches so many rows */
  double lines_a = ceil(WARP * p->copy_a / (row_a < LINE ? row_a : LINE));
  double lines_b = ceil(WARP * p->copy_b / (row_b < LINE ? row_b : LINE));
  c->accesses = matrices * (size == 4 ? MATRIX : 1) + copies;
  c->wavefronts = matrices * MATRIX + k_tiles * STAGE_ROW * (p->bm + p->bn) / LINE;
  c->lines = k_tiles * STAGE_ROW / WARP *
             ((double)p->bm / p->copy_a * lines_a + (double)p->bn / p->copy_b * lines_b);
  c->issue += epilogue(n, tile, 0.5);
  c->waits = 2;
  /* threads wait for copies of 2 bytes, eight at a time */
  c->l2_waits += k_tiles * ceil(small * STAGE_ROW / 2 / c->threads / 8);
  c->covered = k_tiles / (PIPELINE_STAGES - 1);
  /* a barrier a k-tile, and the first instructions behind it */
  c->chain = k_tiles * 2 * MMA_CLOCKS;
  c->registers = p->wm * p->wn / WARP + 2 * (p->wm / 16 * 4 + p->wn / 16 * 4) + OTHER_REGISTERS;
  c->l2_bytes = product_l2(n, p, k);
  double operands = (double)p->batch * (double)(p->m + p->n) * (double)p->k * size;
  c->bytes = (double)p->batch *
                 product_bytes(n, (double)p->m, (double)p->k, (double)p->n, p->bm, p->bn, size, 8) +
             c->least_bytes - operands;
}

/* Blocks go from tile to tile: a warpgroup copies k-tiles, two others multiply 64 rows each. */
static void count_wgmma_product(Counting *n, const GridProductSchedule *plain) {
  GpuCounts *c = &n->c;
  GridProductSchedule p;
  if (!wgmma_schedule(plain, &p)) gc_bug(n->g->ctx, "a product for sm_90a has no schedule");
  double size = dtype_size(p.in), k_tiles = (double)ceil_div(p.k, WGMMA_DEPTH);
  double tiles = (double)wgmma_tiles(&p);
  c->blocks = (double)p.blocks;
  c->threads = p.threads;
  c->shared = p.shared;
  c->registers = WGMMA_REGISTERS;
  double each = ceil(tiles / c->blocks), row = WGMMA_DEPTH * size; /* tiles of a block; bytes */
  double rows = p.bm / 64.0;                                       /* that read B's k-tile each */
  double reads = WGMMA_DEPTH / 16 * rows * (64 + p.bn) * 16 * size / LINE;
  c->wgmma = each * p.bm * p.bn * k_tiles * WGMMA_DEPTH;
  c->wavefronts = each * k_tiles * (reads + (p.bm + p.bn) * row / LINE);
  c->issue = each * epilogue(n, (double)p.bm * p.bn, 0.5);
  c->lines *= each;
  c->parts = 2;
  c->covered = each * k_tiles / (wgmma_stages(&p) - 1);
  c->chain = each * (k_tiles * WGMMA_CLOCKS + WGMMA_ENDS);
  c->l2_bytes = tiles * (p.bm + (double)p.bn / p.cluster) * k_tiles * row + c->least_bytes;
  c->received = tiles * (p.bm + p.bn) * k_tiles * row + c->least_bytes;
  double operands = (double)p.batch * (double)(p.m + p.n) * (double)p.k * size;
  c->bytes = (double)p.batch *
                 product_bytes(n, (double)p.m, (double)p.k, (double)p.n, p.bm, p.bn, size, 8) +
             c->least_bytes - operands;
}

static void count_fma_tile(Counting *n, double steps, int bm, int bn, int tm, int tn, bool f64) {
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

static void count_fma_product(Counting *n, const GridProductSchedule *p) {
  GpuCounts *c = &n->c;
  double size = dtype_size(p->in), k = (double)ceil_div(p->k, FMA_DEPTH) * FMA_DEPTH;
  count_fma_tile(n, k, p->bm, p->bn, p->tm, p->tn, p->dt == DT_F64);
  c->issue += epilogue(n, (double)p->bm * p->bn, 1);
  c->l2_bytes = product_l2(n, p, k);
  double operands = (double)p->batch * (double)(p->m + p->n) * (double)p->k * size;
  c->bytes = (double)p->batch *
                 product_bytes(n, (double)p->m, (double)p->k, (double)p->n, p->bm, p->bn, size, 1) +
             c->least_bytes - operands;
}

/* A warp for each chain: a load of B for each number of the depth, with which it multiplies all
   rows. */
static void count_thin_product(Counting *n, const GridProductSchedule *p) {
  enum { STEP = 256, CHAIN = 1024, CLOCKS = 4 /* of a dependent fma */ };
  GpuCounts *c = &n->c;
  const double size = dtype_size(p->in), number = dtype_size(p->dt),
               warps = c->threads / (double)WARP;
  const double k = (double)p->k, m = (double)p->m, step = STEP / number;
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
  c->registers = STEP / 4 + p->m * p->side + OTHER_REGISTERS;
  c->shared = (int)(warps * number * (m * (step + p->bn) + (p->tb ? WARP * (step + 1) : 0)));
  c->issue += epilogue(n, m * p->bn, 1);
  c->bytes = c->l2_bytes = c->least_bytes;
  c->l2_bytes += (c->blocks - (double)p->batch) * m * k * size;
}

void count_product(Counting *n, const void *schedule) {
  const GridProductSchedule *p = schedule;
  if (n->f->sm90a && n->d->wgmma)
    count_wgmma_product(n, p);
  else if (p->tensor)
    count_tensor_product(n, p);
  else if (p->thin)
    count_thin_product(n, p);
  else
    count_fma_product(n, p);
}

/* ---- windows ---- */

static void count_conv_tile(Counting *n, const GridConvSchedule *s) {
  GpuCounts *c = &n->c;
  double parts = (double)ceil_div(s->channels, FMA_DEPTH), kc = ceil((double)s->channels / parts);
  double taps_a_tile =
      floor(FMA_DEPTH / kc) < (double)s->taps ? floor(FMA_DEPTH / kc) : (double)s->taps;
  if (taps_a_tile < 1) taps_a_tile = 1;
  ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  bool back = n->gr->root->kind == OP_CONV_INPUT_GRAD;
  double taps = (double)s->taps, phases = back ? (double)(g.h.stride * g.w.stride) : 1;
  if (taps_a_tile == 1) taps /= phases; /* a block leaves out those that its pixels do not have */
  double steps = parts * ceil(taps / taps_a_tile) * taps_a_tile * kc;
  count_fma_tile(n, steps, s->bm, s->bn, s->tm, s->tn, counting_is_f64(n));
  double width = back ? (double)g.w.in : (double)g.w.out, warps = c->threads / (double)WARP;
  /* some pixel of a warp lies under the padding in all taps of a row but one: both paths run */
  double masked = g.w.lo + g.w.hi > 0 && g.w.taps > 1 ? 1 - 1.0 / (double)g.w.taps : 0;
  if (s->bn < width) masked *= s->bn / width;
  if (phases > 1 && taps_a_tile > 1) masked = 1;
  c->fma *= 1 + masked;
  c->fma64 *= 1 + masked;
  c->issue += masked * warps * steps * s->tm * s->tn * BOTH_PATHS;
  double loads = steps * (s->bm + s->bn) / WARP;
  c->issue += loads * 2 * QUOTIENT;
  /* the filters' taps lie side by side, channels apart */
  c->lines += steps * s->bm / WARP * ceil(2 * FMA_DEPTH * (double)s->taps * F32 / LINE);
  c->issue += epilogue(n, (double)s->bm * s->bn, 1);
  c->l2_bytes = c->blocks * (s->bm + s->bn) * steps * 4 + c->least_bytes;
  c->bytes = c->least_bytes;
}

/* A block multiplies k-tiles of 64 bytes on tensor cores, each element gathered by `gathered`
   accesses of a warp, which take so many instructions, and of which `single` are stored one by one.
 */
static void count_gathered_tile(Counting *n, double k_tiles, double size, int bm, int bn, int wm,
                                int wn, double gathered, double instructions, double single) {
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, steps = k_tiles * 2;
  double mma = warps * steps * (wm / 16.0) * (wn / 8.0);
  double matrices = warps * steps * (wm / 16.0 + wn / 16.0);
  double stored = single > 0 ? single : (bm + bn) * STAGE_ROW / 16.0 / WARP;
  c->mma = (double)bm * bn * k_tiles * STAGE_ROW / size * (size == 4 ? 2 : 1);
  c->issue =
      mma + matrices + k_tiles * (instructions + stored * 2) + warps * (START + k_tiles * K_TILE);
  c->accesses = matrices + k_tiles * (2 * gathered + stored);
  c->wavefronts = matrices * MATRIX + k_tiles * (gathered + (bm + bn) * STAGE_ROW / LINE + single);
  c->lines = k_tiles * gathered * 1.5;
  c->waits = 2;
  c->covered = k_tiles;
  c->chain = k_tiles * MMA_CLOCKS;
  c->registers = wm * wn / WARP + (bm + bn) * STAGE_ROW / 4 / c->threads + GATHER_REGISTERS;
}

static void count_tensor_conv(Counting *n, const GridConvSchedule *s) {
  double size = dtype_size(value_type(n->gr->e, n->gr->root->operands[0])->dtype);
  double depth = STAGE_ROW / size, k = (double)s->channels * (double)s->taps;
  double k_tiles = ceil(k / depth);
  bool back = n->gr->root->kind == OP_CONV_INPUT_GRAD;
  bool whole = !back && fmod(k, 16 / size) == 0;
  /* a k-tile has one tap, and a block leaves out those that its pixels do not have */
  bool by_tap = fmod((double)s->channels, depth) == 0 && (back || s->taps == 1);
  if (by_tap && back) {
    ConvGeom g = conv_geom(n->gr->e, n->gr->root);
    double most = (double)(ceil_div(g.h.taps, g.h.stride) * ceil_div(g.w.taps, g.w.stride));
    k_tiles /= (double)(g.h.stride * g.w.stride);
    n->c.longest = n->c.last = most * (double)s->channels / depth / k_tiles;
  }
  double filters = whole ? s->bm * STAGE_ROW / 16.0 / WARP : s->bm * depth / WARP;
  double rounded = n->gr->root->attr[AT_ROUND_FILTERS].i ? s->bm * STAGE_ROW / 4 / WARP : 0;
  double wider = rounded > 0 ? 4 / size : 1; /* filters in memory */
  double images = s->bn * depth / WARP;
  double instructions =
      by_tap ? (filters + images) * ONE_TAP : filters * (whole ? 1 : 4) * ADDRESS + images * TABLE;
  count_gathered_tile(n, k_tiles, size, s->bm, s->bn, s->wm, s->wn, filters + images, instructions,
                      0);
  n->c.issue += epilogue(n, (double)s->bm * s->bn, 1) * 2 + rounded * k_tiles;
  n->c.l2_bytes = n->c.blocks * (s->bm * wider + s->bn) * k_tiles * STAGE_ROW + n->c.least_bytes;
  n->c.bytes = n->c.least_bytes;
}

void count_conv(Counting *n, const void *schedule) {
  const GridConvSchedule *s = schedule;
  if (s->tensor)
    count_tensor_conv(n, s);
  else
    count_conv_tile(n, s);
}

/* Three warpgroups multiply what a fourth gathers, 64 channels of a pixel at a time: for each of
   them a warp waits for memory once. */
static void count_wgmma_filter(Counting *n, const ConvGeom *g, const GridFilterSchedule *f) {
  enum { GATHERED = 3, STEP = 16, ISSUED = 8, ROWS_OF_STORE = 8 };
  const WgmmaFilterSchedule *s = &f->wgmma;
  GpuCounts *c = &n->c;
  double numel = (double)(f->groups * f->m * f->weights), parts = (double)s->parts;
  double k_tiles = (double)s->chunk / s->depth;
  double tiles = (double)WGMMA_FILTER_GROUPS * wgmma_filter_tiles(s);
  double elements = (double)wgmma_filter_gathered(g, s), loads = elements / WARP;
  double pixels = elements / WGMMA_SIDE, warps = ceil(pixels / WARP); /* of gathering threads */
  double steps = tiles * s->depth / STEP, line = WGMMA_SIDE * STEP * 2.0 / LINE;
  double sums = tiles * WGMMA_SIDE * WGMMA_SIDE;
  c->blocks = (double)s->blocks;
  c->threads = WGMMA_FILTER_THREADS;
  c->shared = s->shared;
  c->registers = WGMMA_FILTER_REGISTERS;
  c->parts = 2;
  c->wgmma = k_tiles * steps * WGMMA_SIDE * WGMMA_SIDE * STEP;
  c->wavefronts = k_tiles * (steps * 2 * line + loads + elements * 2 / LINE);
  c->accesses = k_tiles * (loads + loads / 8) + sums / 2 / WARP;
  c->issue = k_tiles * (loads * GATHERED + warps * (START + 3 * QUOTIENT) + steps * 4 * ISSUED) +
             sums / WARP * 3;
  c->lines = k_tiles * loads * 1.5 + sums / 2 / WARP * ROWS_OF_STORE;
  c->covered = k_tiles * ceil(warps / 4);
  c->waits = ceil(warps / 4);
  c->chain = k_tiles * WGMMA_CLOCKS + WGMMA_ENDS;
  c->l2_bytes = c->blocks * k_tiles * elements * 2 + parts * numel * 4;
  c->bytes = c->least_bytes + parts * numel * 4;
}

/* Gradients with respect to filters: a block goes over the pixels of a chunk, or over all. */
void count_filter(Counting *n, const void *schedule) {
  const GridFilterSchedule *s = schedule;
  GpuCounts *c = &n->c;
  ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  bool sm90a = n->f->sm90a && n->d->wgmma;
  double numel = (double)(s->groups * s->m * s->weights);
  double parts = (double)(sm90a ? s->wgmma.parts : s->parts);
  double pixels = (double)(g.n * g.h.out * g.w.out), size = dtype_size(g.x->dtype);
  if (s->rounds > 1) c->least_flops /= (double)s->rounds, c->least_bytes /= (double)s->rounds;
  if (counting_is_part(n, "combine")) {
    double warps = c->threads / (double)WARP;
    c->least_flops = 0;
    c->least_bytes = c->bytes = c->l2_bytes = numel * (parts + 1) * 4;
    c->issue = warps * (START + parts * 3 + counting_price(n, n->gr->domain));
    c->accesses = c->lines = warps * (parts + 1);
    c->parts = warps;
    c->waits = 1 + ceil(parts / 8);
    return;
  }
  if (sm90a) {
    count_wgmma_filter(n, &g, s);
    return;
  }
  if (parts > 0) pixels = (double)(s->chunk < s->frame ? s->chunk : s->frame);
  if (s->tensor) {
    /* weights are channels, and none lies in the padding (text/conv.h) */
    bool all_inside = g.h.taps == 1 && g.w.taps == 1 && g.h.lo == 0 && g.w.lo == 0 &&
                      (g.h.out - 1) * g.h.stride < g.h.in && (g.w.out - 1) * g.w.stride < g.w.in;
    double depth = STAGE_ROW / size, each = (s->bm + s->bn) * depth / WARP;
    count_gathered_tile(n, ceil(pixels / depth), size, s->bm, s->bn, s->wm, s->wn, each,
                        each * (all_inside ? ONE_TAP : 3 * ADDRESS), each);
  } else {
    count_fma_tile(n, pixels, s->bm, s->bn, s->tm, s->tn, counting_is_f64(n));
    c->issue += pixels * (s->bm + s->bn) / WARP * QUOTIENT;
  }
  c->l2_bytes = c->blocks * (s->bm + s->bn) * pixels * size + numel * 4;
  c->bytes = c->least_bytes + (parts > 0 ? parts * numel * 4 : 0);
}

void count_window(Counting *n) {
  GpuCounts *c = &n->c;
  const Op *root = n->gr->root;
  double results = (double)value_type(n->gr->e, root->results[0])->numel;
  double steps = c->least_flops / (results > 0 ? results : 1), warps = c->threads / (double)WARP;
  enum {
    ALONE = 8,        /* instructions of a step: two loads, their addresses and conditions */
    SIDE_BY_SIDE = 4, /* steps that the compiler unrolls */
    STEP_CLOCKS = 40  /* of a load from the first cache and what waits for it */
  };
  bool conv = root->kind == OP_CONV || root->kind == OP_CONV_INPUT_GRAD;
  double touched = 3;
  if (root->kind == OP_CONV_FILTER_GRAD) {
    ConvGeom g = conv_geom(n->gr->e, root);
    double rows = ceil(WARP / (double)g.w.taps);
    touched = 1 + (rows > 1 ? rows : 1);
  }
  if (conv || root->kind == OP_CONV_FILTER_GRAD) steps /= 2;
  c->fma = warps * steps;
  c->issue = warps * (START + steps * ALONE);
  c->accesses = warps * steps * 2;
  c->lines = warps * steps * touched;
  c->parts = warps;
  c->waits = 1 + steps / WARP;
  c->chain = steps / SIDE_BY_SIDE * STEP_CLOCKS;
  c->l2_bytes = c->blocks * warps * steps / WARP * touched * LINE; /* a line serves 32 steps */
  c->bytes = c->least_bytes;
  c->registers = PLAIN_REGISTERS;
}
