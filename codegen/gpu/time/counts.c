/* Counts of a launch, from the schedule that its kernel was printed by and from its group; see
   counts.h. Instructions are those of the loops, with a price for each element function, and
   estimates of the addresses around them; tests/cuda/model.c holds the counts against those of the
   PTX interpreter. What a launch touches is counted by the arguments' strides. */
#include "codegen/gpu/time/counts.h"

#include "codegen/print/gather.h"
#include "codegen/print/reduction.h"
#include "codegen/schedule/attention.h"
#include "codegen/schedule/cumsum.h"
#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/map.h"
#include "codegen/schedule/product.h"
#include "codegen/schedule/scatter.h"
#include "codegen/schedule/sort.h"
#include "ir/op/window.h"
#include "passes/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  LINE = 128,    /* bytes that an access touches at once, and bytes of a wavefront */
  SECTOR = 32,   /* bytes */
  ADDRESS = 4,   /* instructions of an access' address and condition */
  START = 20,    /* ... of a kernel's start */
  QUOTIENT = 10, /* ... of a division or a root */
  FUNCTION = 20, /* ... of exp and its kin */
  ONE_TAP = 5,   /* ... of an element gathered by a convolution, if its k-tile has one tap */
  TABLE = 10,    /* ... if a table says where its tap reads */
  K_TILE = 60,   /* ... of a warp in a k-tile of a product, beside copies, loads and mma */
  MATRIX = 4     /* wavefronts of an ldmatrix of four matrices */
};

typedef struct Counting {
  Gen *g;
  const CudaFunction *f;
  const GpuDevice *d;
  Group *gr;
  GpuCounts c;
} Counting;

/* ---- groups ---- */

static bool is_part(const Counting *n, const char *suffix) {
  return n->f->kernel->part && strcmp(n->f->kernel->part, suffix) == 0;
}

static bool is_f64(const Counting *n) {
  for (int i = 0; i < n->gr->nops; i++)
    for (int k = 0; k < n->gr->ops[i]->nresults; k++)
      if (value_type(n->gr->e, n->gr->ops[i]->results[k])->dtype == DT_F64) return true;
  return false;
}

static double op_price(const Op *op) {
  if (op_is_norm(op) || op_is_norm_grad(op)) return 4;
  if (op_info[op->kind].cls != CLASS_ELEMENT) return 0;
  if (op->kind == OP_DIV || op->kind == OP_SQRT) return QUOTIENT;
  if (op->kind == OP_RSQRT) return 2 * QUOTIENT;
  if (op->kind == OP_DROPOUT) return 2 * FUNCTION;
  return op_calls_function(op->kind) && op->kind != OP_ABS ? FUNCTION : 1;
}

/* Instructions of the element-wise members, for one element of the domain: members of a lower shape
   are evaluated once a row. */
static double price(const Counting *n, const Type *shape) {
  double sum = 0;
  for (int i = 0; i < n->gr->nops; i++) {
    const Op *op = n->gr->ops[i];
    bool full = op_info[op->kind].cls == CLASS_ROWS ||
                value_type(n->gr->e, op->results[0])->numel == shape->numel;
    if (full) sum += op_price(op);
  }
  return sum;
}

/* An argument that each element of the domain reads, or a result. */
typedef struct Stream {
  double size;    /* bytes of an element */
  double numel;   /* its own elements */
  int64_t stride; /* in elements, from one thread to the next; 0: all read the same */
} Stream;
typedef struct Streams {
  Stream at[64];
  int n;
} Streams;

static void add_stream(Streams *s, Stream x) {
  if (s->n < (int)(sizeof s->at / sizeof *s->at)) s->at[s->n++] = x;
}

/* By strides along axis `lane` of the domain, or along its last one of several elements. */
static Streams streams_of(const Counting *n, int lane) {
  Streams s = {.n = 0};
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
    add_stream(&s, (Stream){dtype_size(t->dtype), (double)t->numel,
                            lane >= 0 ? leaves.at.at[i].stride[lane] : 0});
  }
  return s;
}

/* The same of arguments as they lie: `full` and more elements are streams, fewer are the same for
   many threads. */
static Streams streams_as_they_lie(const Counting *n, int64_t full) {
  Streams s = {.n = 0};
  for (int i = 0; i < n->gr->nin; i++) {
    const Type *t = value_type(n->gr->e, n->gr->in[i]);
    add_stream(&s, (Stream){dtype_size(t->dtype), (double)t->numel, t->numel >= full});
  }
  return s;
}

/* Lines that a warp's access of `width` elements a thread touches. */
static double lines(const Stream *s, int width) {
  double apart = (double)llabs(s->stride) * s->size * width;
  if (s->stride == 0) return 1;
  if (llabs(s->stride) == 1) return ceil(WARP * apart / LINE);
  return apart >= LINE ? WARP : ceil(WARP * apart / LINE);
}

/* Bytes of L2 that so many elements of it take, each read once. */
static double l2_bytes(const Stream *s, double elements) {
  int64_t stride = llabs(s->stride);
  if (stride == 0)
    return s->numel * s->size < elements * s->size ? s->numel * s->size : elements * s->size;
  double each = (double)stride * s->size;
  return elements * (each < SECTOR ? each : SECTOR);
}

/* ---- what no launch could avoid ---- */

static void count_least(Counting *n) {
  const CudaFunction *f = n->f;
  double read = 0, written = 0;
  for (int i = 0; i < f->nargs; i++) {
    if (f->kernel->args[i].kind == ARG_SCRATCH) continue;
    if (f->rights[i] & 1) read += (double)f->bytes[i];
    if (f->rights[i] & 2) written += (double)f->bytes[i];
  }
  if (n->gr->root && n->gr->root->kind == OP_GATHER && read > 2 * written) read = written;
  n->c.least_bytes = read + written;
  n->c.least_flops = (double)f->kernel->flops;
  n->c.peak = is_f64(n) ? PEAK_FMA64 : PEAK_FMA;
  const Op *root = n->gr->root;
  if (!root) return;
  OpClass cls = op_info[root->kind].cls;
  if (cls != CLASS_CONTRACT && cls != CLASS_ATTENTION && cls != CLASS_WINDOW) return;
  Dtype dt = value_type(n->gr->e, root->operands[0])->dtype;
  if (dtype_is_half(dt))
    n->c.peak = PEAK_TENSOR;
  else if (root->kind == OP_MATMUL && root->attr[AT_TF32].i)
    n->c.peak = PEAK_TF32;
}

/* ---- element by element ---- */

/* A thread does `width` of the elements, with so many instructions for each, and stores `nout`
   results. */
static void count_elements(Counting *n, const Streams *s, double elements, int width, double each) {
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, vectors = 0, touched = 0;
  for (int i = 0; i < s->n; i++) {
    vectors += llabs(s->at[i].stride) == 1 ? 1 : width;
    touched += s->at[i].stride == 1 ? lines(&s->at[i], width) : width * lines(&s->at[i], 1);
    c->l2_bytes += l2_bytes(&s->at[i], elements);
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

static void count_map(Counting *n, const GridMapSchedule *m) {
  Streams s = streams_of(n, -1);
  count_elements(n, &s, (double)m->elements, m->width, price(n, n->gr->domain));
}

/* A thread does an element, or a vector of them, of a copy in some order. */
static void count_move(Counting *n) {
  double written = 0;
  for (int i = 0; i < n->gr->nout; i++)
    written += (double)value_type(n->gr->e, n->gr->out[i])->numel;
  Streams s = streams_as_they_lie(n, 1);
  for (int i = 0; i < s.n; i++)
    if (s.at[i].numel > written) s.at[i].numel = written;
  double of_thread = written / (n->c.blocks * n->c.threads);
  int width = of_thread > 1 ? (int)ceil(of_thread) : 1;
  count_elements(n, &s, written, width, 2 * QUOTIENT);
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

static bool has_full_results(const Group *gr) {
  for (int i = 0; i < gr->nout; i++)
    if (type_same_dims(value_type(gr->e, gr->yield[i]), gr->domain)) return true;
  return false;
}

static void count_rows(Counting *n, const GridRowsSchedule *s) {
  GpuCounts *c = &n->c;
  const Group *gr = n->gr;
  double all = (double)s->rows * (double)s->elements, warps = c->threads / (double)WARP;
  Streams in = streams_as_they_lie(n, (int64_t)all);
  int width = cuda_width(gr, s->elements), unroll = cuda_unroll(gr, 4) > 2 ? 2 : 1;
  double each = price(n, gr->domain) + 2, full = 0, touched = 0;
  for (int i = 0; i < in.n; i++)
    if (in.at[i].stride)
      full++, touched += lines(&in.at[i], 1), c->l2_bytes += in.at[i].numel * in.at[i].size;
  double passes = row_passes(n, s) + has_full_results(gr);
  bool in_chunks = s->group == GROUP_BLOCKS;
  c->bytes = c->least_bytes;
  if (is_part(n, "combine") || is_part(n, "results")) {
    double parts = (double)s->chunks, tile = s->tile < s->chunks ? s->tile : parts;
    c->issue = warps * (START + parts / c->threads * 10) + parts * 3;
    c->waits = 1 + ceil(parts / (tile > 0 ? tile : 1));
    c->chain = parts * 6;
    c->bytes = c->l2_bytes = (double)s->rows * (parts * PARTIAL + 8);
    c->least_bytes = c->bytes;
    return;
  }
  if (is_part(n, "apply")) {
    count_elements(n, &in, all, width, each);
    c->waits = 2;
    return;
  }
  double elements = all / c->blocks; /* of a block */
  if (s->group == GROUP_THREAD || s->group == GROUP_WARP) c->parts = warps;
  if (in_chunks) passes = 1;
  double loads = passes * elements / WARP;
  double exps = elements / WARP * exponentials(n);
  c->issue = warps * START + loads * (each + full * (1 + ADDRESS)) + exps;
  c->fma = loads * each + exps;
  c->accesses = loads * (full + (in_chunks ? 2 : 0));
  c->l2_bytes *= passes;
  for (int i = 0; i < gr->nout; i++) c->l2_bytes += (double)value_type(gr->e, gr->out[i])->bytes;
  double of_thread = elements / c->threads; /* elements that a thread loads in a pass */
  if (in_chunks) {
    double tiles = ceil((double)(s->elements < ROW_CHUNK ? s->elements : ROW_CHUNK) / s->tile);
    c->wavefronts = loads * 2;
    c->lines = loads * touched;
    c->waits = tiles + 1;
    c->chain = tiles * s->tile / LANES * 10;
    return;
  }
  if (s->group == GROUP_THREAD) {
    for (int i = 0; i < in.n; i++) /* each thread has a row of its own */
      if (in.at[i].stride) in.at[i].stride = s->elements, c->lines += loads * lines(&in.at[i], 1);
    double once = of_thread / cuda_unroll(gr, 8);
    c->waits = ceil(once);
    c->l2_waits = (passes - 1) * ceil(once);
    return;
  }
  c->lines = loads * touched;
  double once = ceil(of_thread / (2 * unroll));
  c->waits = once;
  c->l2_waits = (passes - 1) * once;
  c->chain = passes * 200; /* the tree over a warp */
}

/* ---- columns ---- */

static void count_columns(Counting *n, const GridColumnsSchedule *s) {
  GpuCounts *c = &n->c;
  double rows = (double)s->rows, warps = c->threads / (double)WARP;
  double each = price(n, n->gr->domain) + 1;
  double partial = s->split ? (double)s->scratch : 0;
  c->bytes = c->least_bytes + partial;
  if (is_part(n, "combine")) {
    double tiles = ceil((double)s->chunks / s->parts);
    double elements = (double)s->chunks * s->combine_width;
    c->bytes = c->l2_bytes = partial + (double)s->columns * 4;
    c->least_bytes = c->bytes;
    c->least_flops = 0;
    c->issue = warps * START + elements / WARP * 12 + (double)s->chunks * 3;
    c->wavefronts = 2 * elements / WARP;
    c->lines = elements / WARP * 4;
    c->waits = tiles * ceil(s->parts * s->combine_width / (16.0 * c->threads));
    c->chain = (double)s->chunks * 6;
    return;
  }
  Streams in = streams_as_they_lie(n, s->rows * s->columns);
  double full = 0, touched = 0;
  for (int i = 0; i < in.n; i++) {
    c->l2_bytes += in.at[i].numel * in.at[i].size;
    if (in.at[i].stride) full++, touched += lines(&in.at[i], 1);
  }
  if (!s->tiled) {
    double loads = warps * rows;
    c->parts = warps;
    c->accesses = loads * full;
    c->issue = warps * START + loads * (each + full * (1 + ADDRESS));
    c->fma = loads * each;
    c->lines = loads * touched;
    c->waits = ceil(rows / cuda_unroll(n->gr, 16));
    return;
  }
  double of_block = s->split && rows > COL_CHUNK ? COL_CHUNK : rows,
         tiles = ceil(of_block / s->depth);
  double elements = of_block * s->width, loads = elements / WARP;
  c->issue = warps * START + loads * (each + full * (1 + ADDRESS) + QUOTIENT) + of_block * 3;
  c->fma = loads * each;
  c->accesses = loads * (full + 2);
  c->wavefronts = loads * 2;
  c->lines = loads * touched;
  c->waits = tiles * ceil(s->depth * s->width / ((double)c->threads * cuda_unroll(n->gr, 16)));
  c->chain = of_block * 6;
}

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
  double each = price(n, n->gr->domain) + 2, loads = 0;
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
  c->chain = k_tiles * 2 * 35;
  c->registers = p->wm * p->wn / WARP + 2 * (p->wm / 16 * 4 + p->wn / 16 * 4) + 48;
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
  double tiles = (double)(p.batch * ceil_div(p.m, p.bm) * ceil_div(p.n, p.bn));
  c->blocks = (double)p.blocks;
  c->threads = p.threads;
  c->shared = p.shared;
  c->registers = 168;
  double each = ceil(tiles / c->blocks), row = WGMMA_DEPTH * size; /* tiles of a block; bytes */
  double rows = p.bm / 64.0;                                       /* that read B's k-tile each */
  double reads = WGMMA_DEPTH / 16 * rows * (64 + p.bn) * 16 * size / LINE;
  c->wgmma = each * p.bm * p.bn * k_tiles * WGMMA_DEPTH;
  c->wavefronts = each * k_tiles * (reads + (p.bm + p.bn) * row / LINE);
  c->issue = each * epilogue(n, (double)p.bm * p.bn, 0.5);
  c->lines *= each;
  c->parts = 2;
  c->covered = each * k_tiles / (wgmma_stages(&p) - 1);
  c->chain = each * (k_tiles * 100 + 4000);
  c->l2_bytes = tiles * (p.bm + p.bn) * k_tiles * row + c->least_bytes;
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
  c->shared += 16 * (bm + bn + 8) * (f64 ? 8 : 4);
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
  c->l2_waits = steps / 16 / 4; /* what the multiplication of a k-tile does not cover */
  c->chain = steps / 16 * 60;
  c->registers = (int)of_thread * 2 + 2 * (tm + tn) + 48;
  if (f64) c->registers = c->registers * 3 / 2;
}

static void count_fma_product(Counting *n, const GridProductSchedule *p) {
  GpuCounts *c = &n->c;
  double size = dtype_size(p->in), k = (double)ceil_div(p->k, 16) * 16;
  count_fma_tile(n, k, p->bm, p->bn, p->tm, p->tn, p->dt == DT_F64);
  c->issue += epilogue(n, (double)p->bm * p->bn, 1);
  c->l2_bytes = product_l2(n, p, k);
  double operands = (double)p->batch * (double)(p->m + p->n) * (double)p->k * size;
  c->bytes = (double)p->batch *
                 product_bytes(n, (double)p->m, (double)p->k, (double)p->n, p->bm, p->bn, size, 1) +
             c->least_bytes - operands;
}

/* ---- windows ---- */

static void count_conv_tile(Counting *n, const GridConvSchedule *s) {
  GpuCounts *c = &n->c;
  double parts = (double)ceil_div(s->channels, 16), kc = ceil((double)s->channels / parts);
  double taps_a_tile = floor(16 / kc) < (double)s->taps ? floor(16 / kc) : (double)s->taps;
  if (taps_a_tile < 1) taps_a_tile = 1;
  ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  bool back = n->gr->root->kind == OP_CONV_INPUT_GRAD;
  double taps = (double)s->taps, phases = back ? (double)(g.h.stride * g.w.stride) : 1;
  if (taps_a_tile == 1) taps /= phases; /* a block leaves out those that its pixels do not have */
  double steps = parts * ceil(taps / taps_a_tile) * taps_a_tile * kc;
  count_fma_tile(n, steps, s->bm, s->bn, s->tm, s->tn, is_f64(n));
  double width = back ? (double)g.w.in : (double)g.w.out, warps = c->threads / (double)WARP;
  /* some pixel of a warp lies under the padding in all taps of a row but one: both paths run */
  double masked = g.w.lo + g.w.hi > 0 && g.w.taps > 1 ? 1 - 1.0 / (double)g.w.taps : 0;
  if (s->bn < width) masked *= s->bn / width;
  if (phases > 1 && taps_a_tile > 1) masked = 1;
  c->fma *= 1 + masked;
  c->fma64 *= 1 + masked;
  c->issue += masked * warps * steps * s->tm * s->tn * 1.75;
  double loads = steps * (s->bm + s->bn) / WARP;
  c->issue += loads * 2 * QUOTIENT;
  /* the filters' taps lie side by side, channels apart */
  c->lines += steps * s->bm / WARP * ceil(2 * 16 * (double)s->taps * 4 / LINE);
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
  c->chain = k_tiles * 35;
  c->registers = wm * wn / WARP + (bm + bn) * STAGE_ROW / 4 / c->threads + 72;
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
    n->c.longest = most * (double)s->channels / depth / k_tiles;
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

/* Gradients with respect to filters: a block goes over the pixels of a chunk, or over all. */
static void count_filter(Counting *n, const GridFilterSchedule *s) {
  GpuCounts *c = &n->c;
  ConvGeom g = conv_geom(n->gr->e, n->gr->root);
  double numel = (double)(s->groups * s->m * s->weights), parts = (double)s->parts;
  double pixels = (double)(g.n * g.h.out * g.w.out), size = dtype_size(g.x->dtype);
  if (s->rounds > 1) c->least_flops /= (double)s->rounds, c->least_bytes /= (double)s->rounds;
  if (is_part(n, "combine")) {
    double warps = c->threads / (double)WARP;
    c->least_flops = 0;
    c->least_bytes = c->bytes = c->l2_bytes = numel * (parts + 1) * 4;
    c->issue = warps * (START + parts * 3 + price(n, n->gr->domain));
    c->accesses = c->lines = warps * (parts + 1);
    c->parts = warps;
    c->waits = 1 + ceil(parts / 8);
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
    count_fma_tile(n, pixels, s->bm, s->bn, s->tm, s->tn, is_f64(n));
    c->issue += pixels * (s->bm + s->bn) / WARP * QUOTIENT;
  }
  c->l2_bytes = c->blocks * (s->bm + s->bn) * pixels * size + numel * 4;
  c->bytes = c->least_bytes + (parts > 0 ? parts * numel * 4 : 0);
}

/* A thread does an element of the result, with two loads for each multiplication. */
static void count_window(Counting *n) {
  GpuCounts *c = &n->c;
  const Op *root = n->gr->root;
  double results = (double)value_type(n->gr->e, root->results[0])->numel;
  double steps = c->least_flops / (results > 0 ? results : 1), warps = c->threads / (double)WARP;
  enum { ALONE = 8, SIDE_BY_SIDE = 4 };
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
  c->chain = steps / SIDE_BY_SIDE * 40;
  c->l2_bytes = c->blocks * warps * steps / WARP * touched * LINE; /* a line serves 32 steps */
  c->bytes = c->least_bytes;
  c->registers = 40;
}

/* ---- attention ---- */

static void count_tensor_attention(Counting *n, const GridAttentionSchedule *s, bool grad) {
  GpuCounts *c = &n->c;
  bool keys = is_part(n, "keys"), causal = n->gr->root->attr[AT_CAUSAL].i;
  double rows = keys ? s->key_rows : s->rows, step = keys ? s->key_step : s->step;
  double mt = keys ? s->key_tiles : s->tiles, warps = c->threads / (double)WARP;
  double others = (double)(keys ? s->t * s->group : s->s);
  double steps = ceil(others / step);
  if (causal) {
    double most = steps;
    steps = steps / 2 + rows / step / 2;
    c->longest = most / steps;
  }
  double d = (double)ceil_div(s->d, 16), e = (double)ceil_div(s->e, 16), nj = step / 8;
  double dims = d * 2 < s->part / 8.0 ? d * 2 : s->part / 8.0;
  double wides = e * 2 < s->part / 8.0 ? e * 2 : s->part / 8.0;
  /* depths of the products of scores, and columns of the products with them */
  double depth = grad ? d + e : d, out = !grad ? wides : keys ? dims + wides : dims;
  double mma = depth * nj * mt + nj / 2 * out * mt;
  double matrices = depth * (mt + nj / 2) + nj / 2 * out / 2;
  double scores = mt * nj * 4; /* of a thread */
  double soft = scores * (grad ? 9 : 7) + (grad ? 0 : mt * wides * 4 + mt * 40);
  double copied = step * (d + e) * 32; /* bytes of a step */
  double copy = s->copy_d < s->copy_e ? s->copy_d : s->copy_e, copies = copied / copy / WARP;
  c->mma = steps * warps * mma * (16 * 8 * 16);
  c->issue = steps * (warps * (mma + matrices + soft + 30) + copies * 4) + warps * START;
  c->fma = steps * warps * soft;
  c->special = steps * warps * scores;
  c->wavefronts = steps * (warps * matrices * MATRIX + copied / LINE);
  c->accesses = steps * (warps * (matrices + (grad ? 0 : mt * 4)) + copies);
  c->lines = steps * copies * ceil(WARP * copy / LINE);
  c->waits = 2;
  c->chain = steps * (35 * (depth + nj / 2) + 4 * 30 + 150);
  c->registers = (int)(mt * (out * 4 + (grad ? 2 : 1) * nj * 4)) + 72;
  if (c->registers > 255) c->registers = 255;
  c->l2_bytes = c->blocks * (steps * copied + rows * (d + e) * 32) + c->least_bytes;
  c->bytes = c->least_bytes;
}

static void count_attention(Counting *n, const GridAttentionSchedule *s) {
  GpuCounts *c = &n->c;
  bool grad = n->gr->root->kind == OP_ATTENTION_GRAD;
  if (grad) {
    double all = (double)op_flops(n->gr->e, n->gr->op); /* both launches compute scores */
    c->least_flops = all / 2;
    c->least_bytes /= 2;
  }
  if (s->tensor) {
    count_tensor_attention(n, s, grad);
    return;
  }
  double fma = c->least_flops / 2 / WARP / c->blocks * (grad ? 1.4 : 1);
  if (is_f64(n))
    c->fma64 = fma;
  else
    c->fma = fma;
  double scores = (double)(s->heads * s->t) * (double)s->s / WARP / c->blocks;
  c->issue = fma * 3 + scores * (2 * FUNCTION);
  c->accesses = c->wavefronts = fma;
  c->waits = 2;
  c->l2_waits = (double)s->s / s->step * 4;
  c->bytes = c->least_bytes;
  c->l2_bytes = c->blocks * (double)(s->s * (s->d + s->e)) * 4 + c->least_bytes;
  c->registers = 128;
  c->shared += (int)((s->rows + 2 * s->step) * (s->d + s->e) * 4);
}

/* ---- order ---- */

static double log_2(double x) { return x > 1 ? ceil(log2(x)) : 1; }

/* A thread finds the place of each of its elements by bisection, run length by run length. */
static void count_sort(Counting *n, const GridSortSchedule *s) {
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, each = log_2(s->tile);
  c->bytes = c->least_bytes;
  if (is_part(n, "merge")) {
    double looks = log_2((double)s->elements);
    c->issue = warps * looks * 12;
    c->accesses = 2 * warps * looks;
    c->lines = warps * looks * WARP;
    c->parts = warps;
    c->l2_waits = 2 * looks;
    c->l2_bytes = c->blocks * warps * looks * WARP * SECTOR;
    return;
  }
  double looks = each * (each + 1) / 2 * s->tile / c->threads;
  c->issue = warps * looks * 15;
  c->accesses = 2 * warps * looks;
  c->wavefronts = warps * looks * 8;
  c->waits = 2;
  c->chain = looks * 60;
  c->l2_bytes = c->least_bytes;
}

static void count_scatter(Counting *n, const GridScatterSchedule *s) {
  GpuCounts *c = &n->c;
  double warps = c->threads / (double)WARP, ids = (double)s->ids;
  c->least_bytes = (double)(s->tables * s->row) * (double)(s->ids + s->rows) * 4 + ids * 4;
  c->bytes = c->l2_bytes = c->least_bytes;
  c->parts = warps;
  if (!s->sorted) {
    c->issue = warps * (START + ids / WARP * 10 + ids / (double)s->rows * 8);
    c->lines = warps * ids / WARP;
    c->l2_waits = ids / WARP;
    return;
  }
  if (is_part(n, "sums")) {
    double own = ids / (double)s->rows;
    c->issue = warps * (START + 20 + own * 8);
    c->lines = warps * (2 + own * 2);
    c->waits = 3;
    return;
  }
  c->least_bytes = c->bytes = ids * 8;
  if (is_part(n, "starts")) {
    c->issue = warps * log_2(ids) * 10;
    c->accesses = 2 * warps * log_2(ids);
    c->lines = warps * log_2(ids) * WARP;
    c->l2_waits = 2 * log_2(ids);
    c->l2_bytes = c->blocks * c->threads * log_2(ids) * SECTOR;
    return;
  }
  c->parts = 1;
  count_sort(n, &s->sort);
}

static void count_cumsum(Counting *n, const GridCumsumSchedule *s) {
  GpuCounts *c = &n->c;
  double elements = (double)s->elements * s->width, tiles = ceil((double)s->elements / s->depth);
  c->issue = elements / WARP * 20 + (double)s->elements * 3;
  c->wavefronts = c->lines = elements / WARP * 4;
  c->waits = 2 * tiles;
  c->chain = (double)s->elements * 8;
  c->bytes = c->l2_bytes = c->least_bytes;
}

/* ---- the whole ---- */

static void count(Counting *n) {
  const Kernel *k = n->f->kernel;
  const ScheduleKind *kind = k->schedule_kind;
  const Op *root = n->gr->root;
  if (kind == &grid_map_kind) {
    count_map(n, k->schedule);
  } else if (kind == &grid_rows_kind) {
    count_rows(n, k->schedule);
  } else if (kind == &grid_columns_kind) {
    count_columns(n, k->schedule);
  } else if (kind == &grid_product_kind) {
    const GridProductSchedule *p = k->schedule;
    if (n->f->sm90a && n->d->wgmma)
      count_wgmma_product(n, p);
    else if (p->tensor)
      count_tensor_product(n, p);
    else
      count_fma_product(n, p);
  } else if (kind == &grid_conv_kind) {
    const GridConvSchedule *s = k->schedule;
    if (s->tensor)
      count_tensor_conv(n, s);
    else
      count_conv_tile(n, s);
  } else if (kind == &grid_filter_kind) {
    count_filter(n, k->schedule);
  } else if (kind == &grid_attention_kind) {
    count_attention(n, k->schedule);
  } else if (kind == &grid_sort_kind) {
    count_sort(n, k->schedule);
  } else if (kind == &grid_scatter_kind) {
    count_scatter(n, k->schedule);
  } else if (kind == &grid_cumsum_kind) {
    count_cumsum(n, k->schedule);
  } else if (kind) {
    gc_bug(n->g->ctx, "the model of time has no counts for the schedule %s", kind->name);
  } else if (root && op_info[root->kind].cls == CLASS_WINDOW) {
    count_window(n);
  } else {
    count_move(n);
  }
}

GpuCounts gpu_counts(Gen *g, const CudaFunction *f, const GpuDevice *d) {
  Counting n = {.g = g, .f = f, .d = d, .gr = group_of(g->a, f->entry, f->op)};
  n.c = (GpuCounts){
      .blocks = (double)f->grid, .threads = f->block, .registers = 40, .shared = f->shared};
  count_least(&n);
  count(&n);
  return n.c;
}
