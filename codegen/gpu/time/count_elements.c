/* Counts of kernels that go over elements, rows or columns, and of those that order them: maps,
   copies, reductions, softmax and norms, sorts, scatters, cumulative sums; see counting.h. */
#include "codegen/gpu/time/counting.h"

#include "codegen/print/gather.h"
#include "codegen/print/reduction.h"
#include "codegen/schedule/cumsum.h"
#include "codegen/schedule/map.h"
#include "codegen/schedule/scatter.h"
#include "codegen/schedule/sort.h"

#include <math.h>
#include <stdlib.h>

/* Instructions and clocks of the loops that these kernels are printed with, counted from their
   PTX and rounded; cuda/sizes compares the sums with the interpreter's. */
enum {
  F32 = 4,      /* bytes; and lines of 128 bytes that a warp's load of f32 touches, at most */
  COMBINE = 10, /* instructions of a partial sum: its load, address and shared store */
  AHEAD = 16,   /* ... of which a thread has so many on their way at once */
  COUNTED = 2,  /* waits for L2 of the block that ends last: of a fence, and of the count */
  COMBINE_COLUMN = 12, /* ... where it has columns, which cost a division more */
  ADDEND = 3,          /* of one addend of a sum in order: load, addition, end of the loop */
  ADD_CLOCKS = 6,      /* of a dependent addition: its latency of 4, and the loop's end */
  SOON_CLOCKS = 5,     /* ... whose operands 32 loads ahead have brought */
  LANE_CLOCKS = 10, /* of a lane's step in a chunk: a shared load shared by several, and addition */
  TREE_CLOCKS = 200, /* a tree of shuffles over a warp: five levels of 30, and shared memory */
  SUMS = 8,          /* bytes of a row's results: maximum and sum */
  IN_FLIGHT = 16,    /* loads of a thread that are under way at once, by unrolling */
  MERGE_LOOK = 12,   /* instructions of a step of a bisection in memory */
  SORT_LOOK = 15,    /* ... in shared memory, with the store of what was found */
  SORT_BANKS = 8,    /* wavefronts of such a step, whose lanes read places of any bank */
  LOOK_CLOCKS = 60,  /* of such a step: two shared loads, one after the other */
  SCAN_IDS = 10,     /* instructions of a warp's look at its ids */
  ADD_ROW = 8,       /* ... of an id's row that is added */
  FIND_ROW = 20,     /* ... of the place where a row's ids begin */
  TILE_ELEMENT = 20, /* ... of an element that goes into a tile of shared memory and back */
  SCAN_CLOCKS = 8    /* of an element of a cumulative sum: ADD_CLOCKS, and the store */
};

/* ---- element by element ---- */

/* A thread does `width` of the elements, with so many instructions for each, and stores `nout`
   results. */
static void count_elements(Counting *n, const Streams *s, double elements, int width, double each) {
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, vectors = 0, touched = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    vectors += llabs(s->at[i].stride) == 1 ? 1 : width;
    touched +=
        s->at[i].stride == 1 ? stream_lines(&s->at[i], width) : width * stream_lines(&s->at[i], 1);
    c->l2_bytes += stream_l2_bytes(&s->at[i], elements);
  }
  for (int i = 0; i < n->gr->nout; i++) {
    const Type *t = value_type(n->gr->e, n->gr->out[i]);
    vectors++;
    touched += ceil(WARP * (double)width * dtype_size(t->dtype) / LINE);
    c->l2_bytes += (double)t->bytes;
  }
  c->issue = warps * (START + (1 + ADDRESS) * vectors + width * each);
  c->fma = warps * width * each;
  c->accesses = warps * vectors;
  c->lines = warps * touched;
  c->parts = warps;
  c->waits = 1;
  c->bytes = c->least_bytes;
}

/* By strides along axis `lane` of the domain, or along its last one of several elements. */
static Streams streams_of(const Counting *n, int lane) {
  Streams s = {0};
  const Group *gr = n->gr;
  Printer p = printer_new(n->g, gr, 3, 1);
  Leaves leaves = {0};
  int rank = gr->domain->rank;
  for (int i = 0; i < gr->nout; i++)
    leaves_result(&p, i, printer_identity(&p, gr->yield[i]), &leaves);
  for (int i = rank - 1; i >= 0 && lane < 0; i--)
    if (gr->domain->dim[i] > 1) lane = i;
  for (uint32_t i = 0; i < leaves.at.n; i++) {
    const Type *t = value_type(gr->e, leaves.at.at[i].v);
    if (group_arg(gr, leaves.at.at[i].v) < 0) continue;
    vec_push(n->g->a, &s,
             (Stream){dtype_size(t->dtype), (double)t->numel,
                      lane >= 0 ? leaves.at.at[i].stride[lane] : 0});
  }
  return s;
}

void count_map(Counting *n, const void *schedule) {
  enum { TILES = 2, OF_TILE = 14 }; /* loads that are under way at once; instructions of a row */
  const GridMapSchedule *m = schedule;
  const double each = counting_price(n, n->gr->domain);
  Streams s = streams_of(n, -1);
  if (!m->tile) {
    count_elements(n, &s, (double)m->elements, m->width, each);
    return;
  }
  /* operands come to shared memory row by row, and back column by column */
  double through = 0;
  for (uint32_t i = 0; i < s.n; i++)
    if (llabs(s.at[i].stride) > 1) s.at[i].stride = 1, through++;
  count_elements(n, &s, (double)m->elements, 1, each);
  GpuCounts *c = &n->c;
  const double rows = (double)m->tile * m->tile / c->threads, warps = c->threads / (double)WARP;
  c->issue = warps * START + c->issue * rows + warps * rows * OF_TILE;
  c->fma *= rows;
  c->accesses = (c->accesses + 2 * warps * through) * rows;
  c->wavefronts = 2 * warps * through * rows;
  c->lines *= rows;
  c->parts = 1;
  c->waits = TILES;
}

void count_move(Counting *n) {
  double written = 0;
  for (int i = 0; i < n->gr->nout; i++)
    written += (double)value_type(n->gr->e, n->gr->out[i])->numel;
  if (counting_moves_part(n))
    written = (double)value_type(n->gr->e, n->gr->root->operands[1])->numel;
  Streams s = counting_arguments(n, 1);
  for (uint32_t i = 0; i < s.n; i++)
    if (s.at[i].numel > written) s.at[i].numel = written;
  double of_thread = written / (n->c.blocks * n->c.threads);
  int width = of_thread > 1 ? (int)ceil(of_thread) : 1;
  const double computed = n->gr->form == FORM_UPDATE ? counting_price(n, n->gr->domain) : 0;
  count_elements(n, &s, written, width, 2 * QUOTIENT + computed);
  if (counting_moves_part(n)) n->c.l2_bytes = n->c.least_bytes;
}

/* ---- rows ---- */

static int row_passes(const Counting *n, const GridRowsSchedule *s) {
  RowsPrinter r = {
      .g = n->g, .gr = n->gr, .outer = op_outer_axes(n->gr->e, n->gr->root), .c = s->elements};
  r.p = printer_new(n->g, n->gr, 4, 1);
  rows_passes(&r);
  return r.npasses;
}

/* Instructions of exponentials, for an element of all rows: once for their sum, once for results.
 */
static double exponentials(const Counting *n) {
  double most = 0;
  for (int i = 0; i < n->gr->nops; i++) {
    OpKind kind = n->gr->ops[i]->kind;
    double times = kind == OP_SOFTMAX || kind == OP_XENT_GRAD ? 2 : kind == OP_XENT ? 1 : 0;
    if (times > most) most = times;
  }
  return most * FUNCTION;
}

/* The last block of a row adds up chunks: all warps load them, then a warp's work is the chain. */
static void count_last_of_row(Counting *n, const GridRowsSchedule *s) {
  GpuCounts *c = &n->c;
  const double parts = (double)s->chunks, handed = (double)s->rows * parts * PARTIAL;
  const double group = parts < ROW_GROUP ? parts : ROW_GROUP, groups = ceil(parts / ROW_GROUP);
  const double tiles = ceil(parts / s->tile), rounds = ceil(parts / c->threads / AHEAD);
  c->tail = (COUNTED + rounds) * n->d->l2_latency + parts / WARP * COMBINE / SCHEDULERS +
            (tiles * group + groups) * SOON_CLOCKS;
  c->bytes += handed;
  c->l2_bytes += 2 * handed;
}

void count_rows(Counting *n, const void *schedule) {
  const GridRowsSchedule *s = schedule;
  GpuCounts *c = &n->c;
  const Group *gr = n->gr;
  double all = (double)s->rows * (double)s->elements, warps = c->threads / (double)WARP;
  Streams in = counting_arguments(n, (int64_t)all);
  int width = cuda_width(gr, s->elements);
  double each = counting_price(n, gr->domain) + 2, full = 0, touched = 0;
  for (uint32_t i = 0; i < in.n; i++)
    if (in.at[i].stride)
      full++, touched += stream_lines(&in.at[i], 1), c->l2_bytes += in.at[i].numel * in.at[i].size;
  double passes = row_passes(n, s), results = rows_has_full_results(gr);
  bool in_chunks = s->group == GROUP_BLOCKS;
  c->bytes = c->least_bytes;
  if (counting_is_part(n, "combine") || counting_is_part(n, "results")) {
    double parts = (double)s->chunks, tile = s->tile < s->chunks ? s->tile : parts;
    const double group = parts < ROW_GROUP ? parts : ROW_GROUP, groups = ceil(parts / ROW_GROUP);
    c->issue = warps * (START + parts / c->threads * COMBINE) +
               (ceil(groups / WARP) * group + groups) * ADDEND;
    c->waits = 1 + ceil(parts / (tile > 0 ? tile : 1));
    c->chain = (ceil(parts / (tile > 0 ? tile : 1)) * group + groups) * ADD_CLOCKS;
    c->bytes = c->l2_bytes = (double)s->rows * (parts * PARTIAL + SUMS);
    c->least_bytes = c->bytes;
    return;
  }
  if (counting_is_part(n, "apply")) {
    count_elements(n, &in, all, width, each + (exponentials(n) > FUNCTION ? FUNCTION : 0));
    c->waits = 2;
    return;
  }
  double elements = all / c->blocks; /* of a block */
  if (s->group == GROUP_THREAD || s->group == GROUP_WARP) c->parts = warps;
  passes = in_chunks ? 1 : passes + results;
  double loads = passes * elements / WARP;
  double exps = elements / WARP * exponentials(n);
  if (s->passes) exps = counting_is_part(n, "sums") && exps ? elements / WARP * FUNCTION : 0;
  c->issue = warps * START + loads * (each + full * (1 + ADDRESS)) + exps;
  c->fma = loads * each + exps;
  c->accesses = loads * (full + (in_chunks ? 2 : 0));
  c->l2_bytes *= passes;
  for (int i = 0; i < gr->nout; i++) c->l2_bytes += (double)value_type(gr->e, gr->out[i])->bytes;
  double of_thread = elements / c->threads; /* elements that a thread loads in a pass */
  if (s->group == GROUP_WARP) of_thread = (double)s->elements / WARP; /* a warp may have no row */
  if (in_chunks) {
    double tiles = ceil((double)(s->elements < ROW_CHUNK ? s->elements : ROW_CHUNK) / s->tile);
    c->wavefronts = loads * 2;
    c->lines = loads * touched;
    c->waits = tiles + 1;
    c->chain = tiles * s->tile / LANES * LANE_CLOCKS;
    if (n->f->kernel->signals) count_last_of_row(n, s);
    return;
  }
  if (s->group == GROUP_THREAD) {
    for (uint32_t i = 0; i < in.n; i++) /* each thread has a row of its own */
      if (in.at[i].stride)
        in.at[i].stride = s->elements, c->lines += loads * stream_lines(&in.at[i], 1);
    double once = of_thread / cuda_unroll(gr, 8);
    c->waits = ceil(once);
    c->l2_waits = (passes - 1) * ceil(once);
    return;
  }
  c->lines = loads * touched;
  double once = ceil(of_thread / (2 * s->rounds));
  c->waits = once;
  c->l2_waits = (passes - results - 1) * once +
                results * ceil(of_thread / width / (s->vectors ? s->vectors : 1));
  c->chain = passes * TREE_CLOCKS;
}

/* ---- columns ---- */

/* The last block of some columns adds up chunks, tile by tile. */
static void count_last_of_columns(Counting *n, const GridColumnsSchedule *s) {
  GpuCounts *c = &n->c;
  const double chunks = (double)s->chunks, elements = chunks * s->width;
  const double depth = s->depth < s->parts ? s->depth : s->parts, tiles = ceil(chunks / depth);
  c->tail =
      (COUNTED + tiles * ceil(depth * s->width / ((double)AHEAD * c->threads))) * n->d->l2_latency +
      elements / WARP * COMBINE_COLUMN / SCHEDULERS + chunks * ADD_CLOCKS;
  c->l2_bytes += 2 * (double)s->scratch;
}

void count_columns(Counting *n, const void *schedule) {
  const GridColumnsSchedule *s = schedule;
  GpuCounts *c = &n->c;
  double rows = (double)s->rows, warps = c->threads / (double)WARP;
  double each = counting_price(n, n->gr->domain) + 1;
  double partial = s->split ? (double)s->scratch : 0;
  c->bytes = c->least_bytes + partial;
  if (counting_is_part(n, "combine")) {
    double tiles = ceil((double)s->chunks / s->parts);
    double elements = (double)s->chunks * s->combine_width;
    c->bytes = c->l2_bytes = partial + (double)s->columns * F32;
    c->least_bytes = c->bytes;
    c->least_flops = 0;
    c->issue = warps * START + elements / WARP * COMBINE_COLUMN + (double)s->chunks * ADDEND;
    c->wavefronts = 2 * elements / WARP;
    c->lines = elements / WARP * F32;
    c->waits = tiles * ceil(s->parts * s->combine_width / ((double)IN_FLIGHT * c->threads));
    c->chain = (double)s->chunks * ADD_CLOCKS;
    return;
  }
  Streams in = counting_arguments(n, s->rows * s->columns);
  double full = 0, touched = 0;
  for (uint32_t i = 0; i < in.n; i++) {
    c->l2_bytes += in.at[i].numel * in.at[i].size;
    if (in.at[i].stride) full++, touched += stream_lines(&in.at[i], 1);
  }
  if (!s->tiled) {
    double loads = warps * rows;
    c->parts = warps;
    c->accesses = loads * full;
    c->issue = warps * START + loads * (each + full * (1 + ADDRESS));
    c->fma = loads * each;
    c->lines = loads * touched;
    c->waits = ceil(rows / cuda_unroll(n->gr, IN_FLIGHT));
    return;
  }
  if (s->warps) { /* each goes from load to load, and meets the others behind a chunk */
    const double turns = ceil(rows / COL_CHUNK / s->warps);
    c->accesses = rows * full;
    c->issue = warps * START + rows * (each + full * (1 + ADDRESS)) + rows / COL_CHUNK * COMBINE;
    c->fma = rows * each;
    c->lines = rows * touched;
    c->waits = turns * ceil((double)COL_CHUNK / cuda_unroll(n->gr, IN_FLIGHT));
    c->chain = turns * s->warps * (ADD_CLOCKS + LANE_CLOCKS);
    return;
  }
  double of_block = s->split && rows > COL_CHUNK ? COL_CHUNK : rows,
         tiles = ceil(of_block / s->depth);
  double elements = of_block * s->width, loads = elements / WARP;
  c->issue = warps * START + loads * (each + full * (1 + ADDRESS) + QUOTIENT) + of_block * ADDEND;
  c->fma = loads * each;
  c->accesses = loads * (full + 2);
  c->wavefronts = loads * 2;
  c->lines = loads * touched * (s->along || s->width > WARP ? 1 : ceil((double)WARP / s->width));
  c->waits =
      tiles * ceil(s->depth * s->width / ((double)c->threads * cuda_unroll(n->gr, IN_FLIGHT)));
  c->chain = of_block * ADD_CLOCKS;
  if (s->ends) count_last_of_columns(n, s);
}

/* ---- order ---- */

static double log_2(double x) { return x > 1 ? ceil(log2(x)) : 1; }

/* A thread finds the place of each of its elements by bisection, run length by run length. */
void count_sort(Counting *n, const void *schedule) {
  const GridSortSchedule *s = schedule;
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, each = log_2(s->tile);
  /* keys and places: of a gather's gradient the least would count its table */
  c->bytes = c->least_bytes = (double)s->rows * (double)s->elements * 2 * F32;
  if (counting_is_part(n, "merge")) {
    double looks = log_2((double)s->elements);
    c->issue = warps * looks * MERGE_LOOK;
    c->accesses = 2 * warps * looks;
    c->lines = warps * looks * WARP;
    c->parts = warps;
    c->l2_waits = 2 * looks;
    c->l2_bytes = c->blocks * warps * looks * WARP * SECTOR;
    return;
  }
  double looks = each * (each + 1) / 2 * s->tile / c->threads;
  c->issue = warps * looks * SORT_LOOK;
  c->accesses = 2 * warps * looks;
  c->wavefronts = warps * looks * SORT_BANKS;
  c->waits = 2;
  c->chain = looks * LOOK_CLOCKS;
  c->l2_bytes = c->least_bytes;
}

void count_scatter(Counting *n, const void *schedule) {
  const GridScatterSchedule *s = schedule;
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, ids = (double)s->ids;
  c->least_bytes = (double)(s->tables * s->row) * (double)(s->ids + s->rows) * 4 + ids * 4;
  c->bytes = c->l2_bytes = c->least_bytes;
  c->parts = warps;
  if (!s->sorted) {
    c->issue = warps * (START + ids / WARP * SCAN_IDS + ids / (double)s->rows * ADD_ROW);
    c->lines = warps * ids / WARP;
    c->l2_waits = ids / WARP;
    return;
  }
  if (counting_is_part(n, "sums")) {
    double own = ids / (double)s->rows;
    c->issue = warps * (START + FIND_ROW + s->width * (1 + own * ADD_ROW));
    c->lines = warps * (2 + s->width * (1 + own) + own);
    c->waits = 3;
    return;
  }
  c->least_bytes = c->bytes = ids * 8;
  if (counting_is_part(n, "starts")) {
    c->issue = warps * log_2(ids) * SCAN_IDS;
    c->accesses = 2 * warps * log_2(ids);
    c->lines = warps * log_2(ids) * WARP;
    c->l2_waits = 2 * log_2(ids);
    c->l2_bytes = c->blocks * c->threads * log_2(ids) * SECTOR;
    return;
  }
  c->parts = 1;
  count_sort(n, &s->sort);
}

void count_cumsum(Counting *n, const void *schedule) {
  const GridCumsumSchedule *s = schedule;
  GpuCounts *c = &n->c;
  const bool sums = s->split && !counting_is_part(n, "sums"); /* of chunks, which are not stored */
  const double length = s->split ? SCAN_CHUNK : (double)s->elements,
               tiles = ceil(length / s->depth);
  const double elements = length * s->width, chunks = (double)cumsum_chunks(s->elements);
  if (counting_is_part(n, "before")) {
    const double groups = (double)cumsum_groups(s->elements), turns = ceil(groups / c->threads);
    const double of_group = chunks < SCAN_GROUP ? chunks : SCAN_GROUP;
    c->issue =
        c->threads / (double)WARP * (START + turns * 2 * of_group * COMBINE) + groups * ADDEND;
    c->l2_waits = turns * 2 * ceil(of_group / 8); /* by unrolling */
    c->chain = (2 * turns * of_group + groups) * SCAN_CLOCKS;
    c->bytes = c->l2_bytes = c->least_bytes = 2 * (double)s->scratch;
    return;
  }
  c->issue = elements / WARP * (sums ? TILE_ELEMENT / 2 : TILE_ELEMENT) + length * ADDEND;
  c->wavefronts = elements / WARP * F32;
  c->lines = elements / WARP * (sums ? F32 / 2 : F32);
  c->waits = (sums ? 1 : 2) * tiles + (s->split && !sums);
  c->chain = length * SCAN_CLOCKS;
  if (sums) c->least_bytes = (double)value_type(n->gr->e, n->gr->in[0])->bytes + (double)s->scratch;
  c->bytes = c->l2_bytes = c->least_bytes;
}
