/* Counts of attention and its gradients, on tensor cores and without; see counting.h. */
#include "codegen/gpu/time/counting.h"

#include "codegen/gpu/attention.h"

#include <math.h>

enum {
  SOFT = 7,      /* instructions of a score: scale, maximum, difference, ex2, sum, conversion */
  SOFT_GRAD = 9, /* ... of the backward pass: ex2, differences and products of two tiles */
  RESCALE = 40,  /* ... of a row of tiles: maxima and sums by shuffles, the factor */
  STEP = 30,     /* ... of a warp in a step: barrier, loop, addresses */
  SHUFFLE_CLOCKS =
      30,            /* of a shuffle and what waits for it; a row's maximum and sum take two each */
  SOFT_CLOCKS = 150, /* of the chain from a score to its weight */
  WGMMA_STEPS = 2,   /* times that a warpgroup waits for its products in a step, each with */
  WGMMA_CHAIN = 100, /* clocks: those of a k-tile of products, calibrated */
  ADD_CHAIN = 4,     /* clocks of a dependent fma */
  EXACT_LANES = 16,  /* threads off tensor cores that share a row */
  FOLD = 6           /* instructions of a score there for a sum or maximum of its row */
};

/* ---- attention ---- */

/* Lines of a warp's copies of keys, or of queries in the second launch of gradients: rows that lie
   apart fill no line together. */
static double copied_lines(const Counting *n, const GridAttentionSchedule *s, bool keys,
                           double copy) {
  Attention a = attention_of(n->g->a, n->gr);
  const StridedView *at = keys ? &a.q_at : &a.k_at;
  const Type *t = value_type(n->gr->e, a.op->operands[a.grad + !keys]);
  double bytes = WARP * copy, row = (double)s->d * 2, lines = ceil(bytes / LINE);
  bool apart = t->dim[t->rank - 2] > 1 && at->stride[t->rank - 2] != s->d;
  if (!apart) return lines;
  double of_rows = bytes < row ? ceil(bytes / LINE) : bytes / row * ceil(row / LINE);
  return of_rows > lines ? of_rows : lines;
}

static void count_tensor_attention(Counting *n, const GridAttentionSchedule *s, bool grad) {
  GpuCounts *c = &n->c;
  bool keys = counting_is_part(n, "keys"), causal = n->gr->root->attr[AT_CAUSAL].i;
  double rows = keys ? s->key_rows : s->rows, step = keys ? s->key_step : s->step;
  double mt = keys ? s->key_tiles : s->tiles, warps = c->threads / (double)WARP;
  double others = (double)(keys ? s->t * s->group : s->s);
  double steps = ceil(others / step);
  if (causal) {
    double most = steps;
    steps = steps / 2 + rows / step / 2;
    c->longest = most / steps, c->last = ceil(rows / step) / steps;
  }
  double d = (double)ceil_div(s->d, 16), e = (double)ceil_div(s->e, 16), nj = step / 8;
  double dims = d * 2 < s->part / 8.0 ? d * 2 : s->part / 8.0;
  double wides = e * 2 < s->part / 8.0 ? e * 2 : s->part / 8.0;
  /* depths of the products of scores, and columns of the products with them */
  double depth = grad ? d + e : d, out = !grad ? wides : keys ? dims + wides : dims;
  double mma = depth * nj * mt + nj / 2 * out * mt;
  double matrices = depth * (mt + nj / 2) + nj / 2 * out / 2;
  double scores = mt * nj * 4; /* of a thread */
  double soft = scores * (grad ? SOFT_GRAD : SOFT) + (grad ? 0 : mt * wides * 4 + mt * RESCALE);
  double copied = step * (d + e) * 32; /* bytes of a step */
  double copy = s->copy_d < s->copy_e ? s->copy_d : s->copy_e, copies = copied / copy / WARP;
  c->mma = steps * warps * mma * (16 * 8 * 16);
  c->issue = steps * (warps * (mma + matrices + soft + STEP) + copies * 4) + warps * START;
  c->fma = steps * warps * soft;
  c->special = steps * warps * scores;
  c->wavefronts = steps * (warps * matrices * MATRIX + copied / LINE);
  c->accesses = steps * (warps * (matrices + (grad ? 0 : mt * 4)) + copies);
  c->lines = steps * copies * copied_lines(n, s, keys, copy);
  c->waits = 2;
  c->chain = steps * (MMA_CLOCKS * (depth + nj / 2) + 4 * SHUFFLE_CLOCKS + SOFT_CLOCKS);
  c->registers = (int)(mt * (out * 4 + (grad ? 2 : 1) * nj * 4)) + GATHER_REGISTERS;
  if (c->registers > 255) c->registers = 255;
  c->l2_bytes = c->blocks * (steps * copied + rows * (d + e) * 32) + c->least_bytes;
  c->bytes = c->least_bytes;
}

/* A warpgroup copies, each of the others multiplies 64 rows. False: they do not. */
static bool count_wgmma_attention(Counting *n, bool grad) {
  GpuCounts *c = &n->c;
  const Attention a = attention_of(n->g->a, n->gr);
  const bool keys = counting_is_part(n, "keys");
  WgmmaAttentionSchedule s;
  if (cuda_lengths_vary(&a) ||
      !wgmma_attention_schedule(&cuda_target(n->g->target)->machine, &a.shape, keys, &s))
    return false;
  const double rows = 64, step = WGMMA_STEP, size = 2; /* of a warpgroup; bytes */
  double others = (double)(keys ? a.t * a.group : a.s), steps = ceil(others / step);
  if (a.causal) {
    const double most = steps;
    steps = steps / 2 + rows / step / 2;
    c->longest = most / steps, c->last = s.groups / steps;
  }
  const double d = ceil((double)a.d / 64) * 64, e = ceil((double)a.e / 64) * 64;
  const double deep_d = ceil((double)a.d / 16) * 16, deep_e = ceil((double)a.e / 16) * 16;
  const double depth = grad ? deep_d + deep_e : deep_d;
  const double out = !grad ? e : keys ? d + e : d; /* columns */
  c->blocks = (double)s.blocks;
  c->threads = s.threads;
  c->shared = s.shared;
  c->registers = (64 << 10) / (s.resident * s.threads);
  const double groups = s.groups, warps = 4 * groups, scores = rows * step / 128; /* of a thread */
  const double soft =
      scores * (grad ? SOFT_GRAD : SOFT) + (grad ? 0 : out / 2 + RESCALE); /* of a thread */
  c->wgmma = steps * groups * rows * step * (depth + out);
  c->fma = steps * warps * soft;
  c->issue = steps * warps * (soft + STEP + depth / 16 + step / 16 * out / 64) + warps * START;
  c->special = steps * warps * scores;
  /* the left operand of scores and both right operands are read from shared memory */
  const double reads = ((rows + step) * depth + step * out) * size * groups;
  const double copied = step * (d + e) * size + (keys ? 8 * step : 0);
  c->wavefronts = steps * (reads + copied) / LINE;
  c->accesses = steps * warps * (grad ? 0 : 2 * 4);
  if (keys) c->accesses += steps * warps * scores / 2 * 2, c->wavefronts += steps * warps * scores;
  c->parts = groups;
  c->waits = 2;
  c->covered = steps / (s.stages - 1);
  c->chain = steps * (WGMMA_STEPS * WGMMA_CHAIN + (grad ? 0 : 4 * SHUFFLE_CLOCKS) + SOFT_CLOCKS);
  c->l2_bytes = c->blocks * (steps * copied + groups * rows * (d + e) * size) + c->least_bytes;
  c->bytes = c->least_bytes;
  return true;
}

/* Blocks of rows against blocks of as many columns: products of scores, whose operands both come to
   shared memory, and products with them, whose left operand is there. */
static void count_exact_attention(Counting *n, const GridAttentionSchedule *s, bool grad) {
  GpuCounts *c = &n->c;
  const bool keys = counting_is_part(n, "keys"), f64 = counting_is_f64(n);
  const double rows = keys ? s->key_rows : s->rows, columns = s->step, size = f64 ? 8 : 4;
  const double tn = columns / EXACT_LANES, tm = rows * columns / tn / c->threads;
  const double others = (double)(keys ? s->t : s->s), warps = c->threads / (double)WARP;
  double steps = ceil(others / columns);
  if (n->gr->root->attr[AT_CAUSAL].i) {
    const double most = steps;
    steps = steps / 2 + rows / columns / 2;
    c->longest = most / steps, c->last = ceil(rows / columns) / steps;
  }
  if (keys) steps *= (double)s->group;
  const double d = (double)s->d, e = (double)s->e, part = (double)s->part;
  const double tiles_d = ceil(fmin(d, part) / columns), tiles_e = ceil(fmin(e, part) / columns);
  const double scored = steps * (grad ? d + e : d); /* depth of the products of scores */
  const double made = steps * columns * (!grad ? tiles_e : keys ? tiles_d + tiles_e : tiles_d);
  const double depth = scored + made, fma = warps * depth * tm * tn;
  const double vectors = ceil(tm / 4) + ceil(tn / 4),
               reads = ceil(tm / 4) * (tm < 4 ? 1 : 2) + ceil(tn / 4) * (tn < 4 ? 1 : 2);
  const double loads = (scored * (rows + columns) + made * columns) / WARP;
  const double scores = steps * rows * columns / WARP; /* of warps */
  if (f64)
    c->fma64 = fma;
  else
    c->fma = fma;
  c->issue = fma + warps * depth * vectors + loads * (2 + ADDRESS) +
             scores * (FUNCTION + (grad ? SOFT_GRAD : 2 * FOLD)) + warps * START;
  c->accesses = warps * depth * vectors + 2 * loads + scores * (grad ? 1 : 2);
  c->wavefronts = (warps * depth * reads + loads + scores) * size / 4;
  c->lines = (scored * (rows + columns) * 2 + made * columns) / WARP;
  c->waits = 2;
  c->l2_waits = depth / FMA_DEPTH / 4; /* what the multiplication of a k-tile does not cover */
  c->chain = depth / FMA_DEPTH * FMA_CLOCKS + steps * (SOFT_CLOCKS + 8 * SHUFFLE_CLOCKS);
  c->bytes = c->least_bytes;
  c->l2_bytes = c->blocks * (scored * (rows + columns) + made * columns) * size + c->least_bytes;
  c->registers = (64 << 10) / (s->resident * c->threads);
  if (c->registers > 255) c->registers = 255;
  c->shared +=
      (int)(((keys ? 2 : 1) * columns * (rows + 4) + FMA_DEPTH * (rows + columns + FMA_PADDING)) *
            size);
}

void count_attention(Counting *n, const void *schedule) {
  const GridAttentionSchedule *s = schedule;
  GpuCounts *c = &n->c;
  bool grad = n->gr->root->kind == OP_ATTENTION_GRAD;
  if (grad) {
    double all = (double)op_flops(n->gr->e, n->gr->op); /* both launches compute scores */
    c->least_flops = all / 2;
    c->least_bytes /= 2;
  }
  if (n->f->sm90a && n->d->wgmma && count_wgmma_attention(n, grad)) return;
  if (s->tensor) {
    count_tensor_attention(n, s, grad);
    return;
  }
  count_exact_attention(n, s, grad);
}

/* What the block of a head that ends last adds up, when others are over. */
static void count_combined(Counting *n, const SplitAttentionSchedule *s, double handed,
                           double steps) {
  enum {
    PARTIAL = 5, /* instructions of a step: two loads, a product and a sum, the loop */
    ADD = 8,     /* clocks of a step: a product and a sum */
    COUNT = 2    /* waits for L2: of a fence, and of the count */
  };
  GpuCounts *c = &n->c;
  const int64_t elements = s->group * s->t * s->e;
  const int columns = elements <= c->threads || s->e % 2       ? 1
                      : elements <= 2 * c->threads || s->e % 4 ? 2
                                                               : 4; /* as of SplitAttention */
  const double size = dtype_size(value_type(n->gr->e, n->gr->root->operands[0])->dtype);
  const double rounds = ceil((double)elements / columns / c->threads),
               ahead = columns == 4 ? 16 : 32;
  const double results = (double)(s->heads * elements) * size;
  c->least_bytes += results;
  c->bytes += results;
  c->l2_bytes += handed * ((double)s->e + 2) + results;
  c->tail = (COUNT + rounds * ceil(steps / ahead)) * n->d->l2_latency + rounds * steps * ADD +
            c->threads / (double)WARP * rounds *
                (steps * (PARTIAL + 2 * columns) + 2 * QUOTIENT * columns) / SCHEDULERS;
}

/* Of few queries, whose keys blocks share. */
void count_split_attention(Counting *n, const void *schedule) {
  enum {
    KEY_LINE =
        16, /* bytes of a load of keys; and instructions for what comes of each of its words */
    LOAD_KEYS = 3, /* instructions of an element on its way to shared memory */
    SIDE = 4,      /* queries or weights that one load from shared memory brings */
    ROW = 60,      /* of a warp, for a row's maximum or sum: a tree, addresses, exp of a factor */
    TOLD = 2       /* waits for L2: of a block's number, and of what it tells the others */
  };
  const SplitAttentionSchedule *s = schedule;
  GpuCounts *c = &n->c;
  const double warps = c->threads / (double)WARP, rows = (double)(s->group * s->t);
  const double keys = s->keys, d = (double)s->d, e = (double)s->e,
               steps = (double)s->blocks / (double)s->heads;
  const double size = dtype_size(value_type(n->gr->e, n->gr->root->operands[0])->dtype);
  const double number = counting_is_f64(n) ? 8 : 4;
  const double handed =
      (double)s->heads * rows * steps * number; /* bytes of a number that blocks hand on */
  c->least_bytes = (double)(s->heads * s->s) * (d + e) * size;
  c->bytes = c->l2_bytes = c->least_bytes + handed * (e + 3);
  const double fma = rows * keys * (d + e) / WARP;
  if (counting_is_f64(n))
    c->fma64 = fma;
  else
    c->fma = fma;
  const double scores = rows * keys * d / WARP, products = rows * keys * e / WARP;
  const double elements = keys * d / WARP, loads = elements * size / KEY_LINE;
  const double values = keys * ceil(e / WARP); /* of warps, for all rows that have the lane */
  const double groups = warps * WARP / (e <= 32 ? 32 : e <= 64 || c->threads <= 64 ? 64 : 128);
  const double again = rows < groups ? rows : groups;
  const double of_thread = ceil(rows * keys / c->threads); /* scores, computed side by side */
  c->issue = scores + scores / SIDE + elements * LOAD_KEYS + loads * ADDRESS + rows * (ROW + 8) +
             products + products / SIDE + again * values * (1 + ADDRESS) +
             rows * (ROW + 2 * (FUNCTION + ADDRESS)) + warps * START;
  const double brought = (scores + products) / SIDE + again * values + rows * 12;
  c->accesses = loads + 2 * elements + brought;
  c->wavefronts = loads + 3 * elements + brought;
  c->lines = keys * d * size / LINE + again * values + rows * 4;
  c->waits = ceil(d / 64) + ceil(e / 128) - 1; /* the first is for values, too */
  c->l2_waits = TOLD + ceil(steps / WARP / 2);
  c->chain = of_thread < ADD_CHAIN ? d * (ADD_CHAIN - of_thread) : 0; /* others are in between */
  c->shared = (int)((keys * 65 + rows * (65 + keys)) * number);
  c->registers = (int)(keys * number / 4) + OTHER_REGISTERS;
  count_combined(n, s, handed, steps);
}
