/* Gradients of convolutions with respect to the filters on the GPU, as implicit GEMM in tiles
   (text/conv.h), those of one channel a group by channels (text/depthwise.h). Contract: the CPU's
   bits: an element is one chain of fma over each chunk of pixels (codegen/schedule/window.h),
   chunks added in order. If there are few tiles, a thread block does one chunk, the partial sums
   lie in scratch, and a second launch adds them; if not all of them have room there, rounds of both
   launches follow each other. The last one does the group's element-wise work. A thread reads the
   other operands of an element before it writes it, so results may lie over them. */
#include "codegen/gpu/conv.h"
#include "codegen/print/printer.h"
#include "codegen/print/window.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/wgmma_filter.h"

typedef struct FilterGrad {
  Gen *g;
  const Group *gr;
  const Op *op;
  ConvGeom c;
  GridFilterSchedule s;
  const char *T; /* that is computed in */
  bool bounded;  /* the run decides how many pixels there are */
} FilterGrad;

/* Pixels of this run on tensor cores, or boxes of them. */
static const char *pixels_text(const FilterGrad *f) {
  Arena *a = f->g->a;
  if (f->s.tensor_box.wide) return cuda_tensor_boxes(f->g, f->gr, &f->c, &f->s.tensor_box);
  return text_product(a, dims_text(f->g, f->gr->e, f->c.x, 0, 1),
                      dims_text(f->g, f->gr->e, f->c.y, 2, 4));
}

/* The run decides how many pixels, or boxes, a part has: `length`. */
static bool has_length(const FilterGrad *f) { return f->bounded && f->s.tensor && f->s.shares; }

static PixelParts parts_of(const FilterGrad *f) {
  return cuda_filter_parts(cuda_target(f->g->target), f->gr, &f->c, &f->s);
}

static void declare_length(const FilterGrad *f, Text *x) {
  if (!has_length(f)) return;
  const PixelParts p = parts_of(f);
  text_line(x, "const int length = %s;",
            f->s.tensor_box.wide ? cuda_filter_boxes(f->g, f->gr, &f->c, &f->s)
                                 : cuda_filter_length(f->g, f->gr, &f->c, &p, pixels_text(f)));
}

/* Blocks of parts that no run of so few pixels has end before they compute the length. */
static void end_early(const FilterGrad *f, Text *x) {
  if (!has_length(f)) return;
  const PixelParts p = parts_of(f);
  text_line(x, "if ((int)(blockIdx.x / %lldu) > %s / %d) return;",
            (long long)(f->s.down * f->s.across * f->s.groups), pixels_text(f),
            p.least * (p.pixels ? p.pixels : 1));
}

/* Chunks of this run; behind declare_length. On tensor cores the schedule chooses how many pixels
   each has. */
static const char *chunks_text(const FilterGrad *f) {
  Arena *a = f->g->a;
  if (!f->bounded) return arena_printf(a, "%lld", (long long)f->s.chunks);
  if (!f->s.tensor) return window_chunk_count(f->g, f->gr->e, &f->c);
  if (has_length(f)) return arena_printf(a, "((%s + length - 1) / length)", pixels_text(f));
  return "1";
}

/* On tensor cores or not, which an option says. */
uint64_t cuda_filter_scratch(const CudaTarget *t, const Group *gr) {
  const uint64_t exact = cuda_filter_schedule(t, gr, false).scratch;
  if (!cuda_conv_narrow(gr)) return exact;
  const uint64_t tensor = cuda_filter_schedule(t, gr, true).scratch;
  return tensor > exact ? tensor : exact;
}

/* Declares where an element lies: i0, i1, i2, j0. */
static void print_place(const FilterGrad *f, Text *x, const char *filter, const char *weight) {
  long long taps = f->c.h.taps * f->c.w.taps, columns = f->c.w.taps;
  const char *I = f->g->index;
  text_line(x, "const %s i0 = %s, i1 = %s / %lld, i2 = %s / %lld %% %lld, j0 = %s %% %lld;", I,
            filter, weight, taps, weight, columns, (long long)f->c.h.taps, weight, columns);
}

/* The result of an element whose sum is `total`, at i0, i1, i2, j0 and u. */
static void print_result(const FilterGrad *f, Text *x, const char *total) {
  EpilogueSite site = {.shape = f->gr->domain,
                       .coord = (const char *[]){"i0", "i1", "i2", "j0"},
                       .flat = "u",
                       .have = f->op->results[0],
                       .have_text = total};
  epilogue_body(f->g, x, f->gr, &site);
}

/* Opens the loops over the elements of a thread, m and n, that are in the result. */
static void open_elements(const FilterGrad *f, Text *x) {
  text_line(x, "#pragma unroll");
  text_open(x, "for (int i = 0; i < %d; i++) {", f->s.tm);
  text_line(x, "#pragma unroll");
  text_open(x, "for (int j = 0; j < %d; j++) {", f->s.tn);
  if (f->s.stages) {
    text_line(x, "const int m = m0 + Tile::row(i), c = n0 + Tile::col(j);");
    text_line(x, "const int n = c * %lld + tap;", (long long)f->s.taps);
    text_line(x, "if (m >= %lld || c >= %lld) continue;", (long long)f->s.m, (long long)f->c.gin);
  } else {
    text_line(x, "const int m = m0 + Tile::row(i), n = n0 + Tile::col(j);");
    text_line(x, "if (m >= %lld || n >= %lld) continue;", (long long)f->s.m,
              (long long)f->s.weights);
  }
  text_line(x, "const %s u = ((%s)group * %lld + m) * %lld + n;", f->g->index, f->g->index,
            (long long)f->s.m, (long long)f->s.weights);
}

static void close_elements(Text *x) {
  text_close(x, "}");
  text_close(x, "}");
}

/* What the sum of element u begins with, or NULL. */
static const char *so_far(const FilterGrad *f) {
  int at = op_accumulator(f->op);
  if (at < 0) return NULL;
  Dtype dt = value_type(f->gr->e, f->op->operands[at])->dtype;
  return scalar_load(f->g->a, dt,
                     arena_printf(f->g->a, "in%d", group_arg(f->gr, f->op->operands[at])), "u");
}

/* Declares the Geometry, and the sizes of the run. */
static void print_sizes(const FilterGrad *f, Text *x) {
  PixelChunks chunks = {.frame = f->s.frame, .chunk = f->s.chunk};
  const char *frame = arena_printf(f->g->a, "%lld", (long long)f->s.frame);
  const char *chunk = arena_printf(f->g->a, "%lld", (long long)f->s.chunk);
  cuda_conv_geometry(x, &f->c, &chunks);
  end_early(f, x);
  declare_length(f, x);
  if (has_length(f) && !f->s.tensor_box.wide) chunk = "length";
  if (!f->s.tensor) window_chunk_sizes(f->g, f->gr->e, &f->c, &frame, &chunk);
  cuda_conv_size(f->g, f->gr->e, x, &f->c, frame, chunk);
}

static void print_tile(const FilterGrad *f, Text *x) {
  Dtype in = value_type(f->gr->e, f->op->operands[0])->dtype;
  print_sizes(f, x);
  if (f->s.tensor_box.wide) {
    cuda_tensor_filter_box(f->g, x, &f->c, &f->s, cuda_mma(in));
  } else if (f->s.tensor) {
    text_line(x, "typedef TensorConvFilter<Geometry, %s, %s, %d, %d, %d, %d> Tile;", f->g->index,
              cuda_mma(in), f->s.bm, f->s.bn, f->s.wm, f->s.wn);
    text_line(x, "extern __shared__ __align__(128) char smem[];");
  } else if (f->s.box.pixels) {
    text_line(x, "typedef ConvFilterBox<Geometry, %s, %d, %d, %d, %d, %d, %d> Tile;", f->g->index,
              f->s.bm, f->s.bn, f->s.tm, f->s.tn, f->s.box.pixels, f->s.box.stages);
    text_line(x, "__shared__ __align__(16) Tile tile;");
  } else if (f->s.stages) {
    text_line(x, "typedef ConvFilterRing<Geometry, %s, %d, %d, %d, %d, %d> Tile;", f->g->index,
              f->s.bm, f->s.bn, f->s.tm, f->s.tn, f->s.stages);
    text_line(x, "__shared__ __align__(16) Tile tile;");
  } else {
    const char *from = cuda_converter(f->g, in);
    text_line(x, "typedef ConvFilterTile<Geometry, %s, %s, %s, %s, %d, %d, %d, %d> Tile;",
              f->g->index, f->T, from, from, f->s.bm, f->s.bn, f->s.tm, f->s.tn);
    text_line(x, "__shared__ __align__(16) Tile tile;");
  }
  long long down = f->s.down, across = f->s.across;
  text_line(x, "const int m0 = (int)(blockIdx.x %% %lldu) * %d;", down, f->s.bm);
  if (f->s.stages) { /* blocks of one tap and another read the same image */
    text_line(x, "const int at = (int)(blockIdx.x / %lldu %% %lldu);", down, across);
    text_line(x, "const int tap = at %% %lld, n0 = at / %lld * %d;", (long long)f->s.taps,
              (long long)f->s.taps, f->s.bn);
  } else if (f->s.box.pixels)
    text_line(x, "const int n0 = 0;");
  else
    text_line(x, "const int n0 = (int)(blockIdx.x / %lldu %% %lldu) * %d;", down, across, f->s.bn);
  text_line(x, "const int group = (int)(blockIdx.x / %lldu %% %lldu);", down * across,
            (long long)f->s.groups);
  if (!f->s.stages && !f->s.box.pixels && !f->s.tensor_box.wide)
    text_line(x, f->s.tensor ? "Tile::start(smem, n0);" : "tile.start(n0);");
  text_line(x, "%s acc[%d][%d];", f->T, f->s.tm, f->s.tn);
}

static void print_run(const FilterGrad *f, Text *x, const char *chunk) {
  if (f->s.tensor_box.wide) {
    const char *boxes = arena_printf(f->g->a, "%lld", (long long)f->s.tensor_box.boxes);
    cuda_tensor_filter_run(f->g, f->gr, x, &f->c, chunk, has_length(f) ? "length" : boxes);
    return;
  }
  text_line(x, "%s, in%d, in%d, group, m0, %s%s, size);",
            f->s.tensor ? "Tile::run(acc, smem" : "tile.run(acc",
            group_arg(f->gr, f->op->operands[0]), group_arg(f->gr, f->op->operands[1]),
            f->s.stages       ? "n0, tap, "
            : f->s.box.pixels ? ""
                              : "n0, ",
            chunk);
}

/* A block adds all chunks of its tile. */
static void print_whole(const FilterGrad *f, Text *x) {
  const char *before = so_far(f);
  bool add = before || f->s.chunks > 1;
  if (add) text_line(x, "%s total[%d][%d];", f->T, f->s.tm, f->s.tn);
  if (before) {
    open_elements(f, x);
    text_line(x, "total[i][j] = %s;", before);
    close_elements(x);
  }
  if (f->s.chunks > 1) {
    text_line(x, "#pragma unroll 1");
    text_open(x, "for (int chunk = 0; chunk < %s; chunk++) {", chunks_text(f));
  }
  print_run(f, x, f->s.chunks > 1 ? "chunk" : "0");
  if (add) {
    text_line(x, "#pragma unroll");
    text_line(x, "for (int i = 0; i < %d; i++)", f->s.tm);
    text_line(x, "#pragma unroll");
    text_line(x,
              before ? "  for (int j = 0; j < %d; j++) total[i][j] = total[i][j] + acc[i][j];"
                     : "  for (int j = 0; j < %d; j++) total[i][j] = chunk ? total[i][j] + "
                       "acc[i][j] : acc[i][j];",
              f->s.tn);
  }
  if (f->s.chunks > 1) text_close(x, "}");
  open_elements(f, x);
  print_place(f, x, arena_printf(f->g->a, "group * %lld + m", (long long)f->s.m), "n");
  print_result(f, x, add ? "total[i][j]" : "acc[i][j]");
  close_elements(x);
}

/* A block does one chunk. Rounds but the first read which one is theirs, so that they have one
 * text. */
static void print_chunk(const FilterGrad *f, Text *x, int64_t round) {
  long long tiles = f->s.down * f->s.across * f->s.groups;
  text_line(x, "const int part = (int)(blockIdx.x / %lldu);", tiles);
  if (round)
    text_line(x, "const int chunk = *(const int *)(scratch + %llu) + part;",
              (unsigned long long)f->s.next);
  else
    text_line(x, "const int chunk = part;");
  if (f->bounded) text_line(x, "if (chunk >= %s) return;", chunks_text(f));
  print_run(f, x, "chunk");
  open_elements(f, x);
  text_line(x, "((%s *)scratch)[(%s)part * %lld + u] = acc[i][j];", f->T, f->g->index,
            (long long)f->gr->domain->numel);
  close_elements(x);
}

/* A block does a chunk of some channels, the chunks of a round one after the other. */
static void print_depthwise(const FilterGrad *f, Text *x, int64_t round, int64_t parts) {
  const GridDepthwiseSchedule *d = &f->s.depthwise;
  const char *from = cuda_converter(f->g, value_type(f->gr->e, f->op->operands[0])->dtype);
  const long long channels = f->s.groups * f->s.m, taps = f->s.weights;
  print_sizes(f, x);
  const bool async = value_type(f->gr->e, f->op->operands[0])->dtype == DT_F32 &&
                     !cuda_target(f->g->target)->pre_sm80;
  text_line(x,
            "typedef DepthwiseFilter<Geometry, %s, %s, %s, %s, %s, %d, %d, %d, %d, %d, %d, %d, %d, "
            "%d, %d, %d, %d, %d> Tile;",
            f->g->index, f->T, from, from, async ? "true" : "false", d->threads, d->units, d->taps,
            d->rows, d->vector, d->copy, d->copy_dy, d->pitch, d->pitch_dy, d->image, d->dy,
            d->before, d->behind);
  text_line(x, "__shared__ __align__(16) char smem[%d];", d->shared);
  text_line(x, "const int first = (int)blockIdx.x * %d, unit = first + Tile::unit();", d->units);
  const char *before = "0";
  if (round) {
    before = "before";
    text_line(x, "const int before = *(const int *)(scratch + %llu);",
              (unsigned long long)f->s.next);
  }
  if (f->bounded)
    text_line(x, "if (%s + first / %lld >= %s) return;", before, channels, chunks_text(f));
  text_line(x, "%s acc[%d];", f->T, d->taps);
  text_line(x, "Tile::run(acc, smem, in%d, in%d, first, %lld, %s, size);",
            group_arg(f->gr, f->op->operands[0]), group_arg(f->gr, f->op->operands[1]),
            (long long)parts * channels, before);
  text_line(x, "if (Tile::unit() >= %d || unit >= %lld) return;", d->units,
            (long long)parts * channels);
  text_line(x, "%s *const sums = (%s *)scratch + (%s)unit * %lld + Tile::row() * %lld;", f->T, f->T,
            f->g->index, taps, (long long)f->c.w.taps);
  text_line(x, "#pragma unroll");
  text_line(x, "for (int k = 0; k < %d; k++)", d->taps);
  text_line(x, "  if (Tile::has(k)) sums[Tile::column(k)] = acc[k];");
}

/* A thread adds `parts` chunks of element u, which lies at `at` of each, to those of the rounds
   before; `stored`: those that the run has stored, in all rounds, or NULL: all. */
static void print_sum(const FilterGrad *f, Text *x, const char *at, int64_t round, int64_t parts,
                      const char *stored) {
  const char *I = f->g->index, *before = so_far(f);
  long long numel = f->gr->domain->numel, weights = f->s.weights;
  unsigned long long next = f->s.next;
  const char *totals =
      arena_printf(f->g->a, "((%s *)(scratch + %llu))", f->T, (unsigned long long)f->s.total);
  if (round) before = arena_printf(f->g->a, "%s[u]", totals);
  text_line(x, "const %s *part = (const %s *)scratch + %s;", f->T, f->T, at);
  text_line(x, "%s total = %s;", f->T, before ? before : "part[0]");
  const char *all = arena_printf(f->g->a, "%lld", (long long)parts);
  if (stored) { /* of the chunks behind those of the rounds before */
    all = "all";
    text_line(x, "const %s all = smaller((%s)%lld, %s - (%s)%lld);", I, I, (long long)parts, stored,
              I, (long long)(round * f->s.parts));
  }
  text_line(x, "#pragma unroll 32");
  text_line(x, "for (%s h = %d; h < %s; h++) total = total + part[h * %lld];", I, !before, all,
            numel);
  if (round + 1 < f->s.rounds) {
    text_line(x, "%s[u] = total;", totals);
    text_line(x,
              round ? "if (u == 0) *(int *)(scratch + %llu) += %lld;"
                    : "if (u == 0) *(int *)(scratch + %llu) = %lld;",
              next, (long long)parts);
    return;
  }
  print_place(f, x, arena_printf(f->g->a, "u / %lld", weights),
              arena_printf(f->g->a, "u %% %lld", weights));
  print_result(f, x, "total");
}

static void print_combine(const FilterGrad *f, Kernel *k, int64_t round, int64_t parts) {
  enum { SMALL_BLOCK = 64 };
  k->block = SMALL_BLOCK;
  cuda_threads(f->g, k, f->gr->domain->numel, "u");
  declare_length(f, &k->text);
  print_sum(f, &k->text, "u", round, parts, f->bounded ? chunks_text(f) : NULL);
  if (!f->s.wgmma.rows) return;
  long long taps = f->c.h.taps * f->c.w.taps; /* sums lie tap by tap there */
  KernelVariant *own = ARENA_NEW(f->g->a, KernelVariant);
  *own = (KernelVariant){
      .text = text_new(f->g->a, 1), .grid = k->grid, .block = k->block, .min_blocks = 1};
  const char *at = arena_printf(f->g->a, "(u %% %lld * %lld + u / %lld)", taps,
                                (long long)f->gr->domain->numel / taps, taps);
  if (f->s.wgmma.columns) at = "u";
  const char *parts_of_run = NULL;
  if (f->bounded) {
    parts_of_run = cuda_filter_sm90a_parts(f->g, f->gr, &own->text, &f->c, &f->s.wgmma);
    parts_of_run = text_ceil_div(f->g->a, parts_of_run, f->s.wgmma.cluster);
    if (f->s.wgmma.few)
      parts_of_run = arena_printf(f->g->a, "(%s < 1 ? 1 : %s)",
                                  cuda_filter_room_text(f->g, f->gr, &f->c), parts_of_run);
  }
  print_sum(f, &own->text, at, 0, f->s.wgmma.parts / f->s.wgmma.cluster, parts_of_run);
  k->variant = own;
}

static int block_of(const FilterGrad *f, const Kernel *k) {
  if (f->s.box.pixels) return f->s.box.threads;
  if (f->s.tensor_box.wide) return cuda_tensor_box_threads(&f->s.tensor_box);
  return f->s.stages ? f->s.bm / f->s.tm * (f->s.bn / f->s.tn) : k->block;
}

/* That a multiprocessor has at least; 0: the compiler decides. */
static int blocks_of(const FilterGrad *f, const Kernel *k) {
  return f->s.tensor_box.wide ? CONV_RING_THREADS / k->block : !f->s.tensor;
}

/* The code by warps, for runs of few images on sm_90a, in a launch of its own; they have one part.
 */
static void print_few(const FilterGrad *f) {
  Kernel *k = cuda_kernel_next(f->g, f->gr, "few");
  kernel_schedule(k, &grid_filter_kind, &f->s, sizeof f->s);
  KernelVariant *own = ARENA_NEW(f->g->a, KernelVariant);
  *own = (KernelVariant){.text = text_new(f->g->a, 1),
                         .grid = f->s.down * f->s.across * f->s.groups,
                         .block = block_of(f, k),
                         .shared = f->s.shared};
  k->block = own->block;
  own->min_blocks = blocks_of(f, k);
  k->grid = 0;
  text_line(&own->text, "if (%s > 0) return;", cuda_filter_room_text(f->g, f->gr, &f->c));
  print_tile(f, &own->text);
  print_chunk(f, &own->text, 0);
  k->variant = own;
}

/* One pair of launches for each round. */
static void print_rounds(const FilterGrad *f, Kernel *k) {
  for (int64_t round = 0; round < f->s.rounds; round++) {
    int64_t left = f->s.chunks - round * f->s.parts;
    int64_t parts = left < f->s.parts ? left : f->s.parts;
    if (round) k = cuda_kernel_next(f->g, f->gr, "chunks");
    kernel_schedule(k, &grid_filter_kind, &f->s, sizeof f->s);
    if (f->s.depthwise.units) {
      k->grid = ceil_div(parts * f->s.groups * f->s.m, f->s.depthwise.units);
      k->block = f->s.depthwise.threads;
      print_depthwise(f, &k->text, round, parts);
    } else {
      k->grid = f->s.blocks / f->s.parts * parts;
      k->block = block_of(f, k);
      k->min_blocks = blocks_of(f, k);
      k->shared = f->s.shared;
      print_tile(f, &k->text);
      print_chunk(f, &k->text, round);
    }
    if (f->s.wgmma.rows) cuda_filter_sm90a(f->g, f->gr, k, &f->c, &f->s.wgmma);
    if (f->s.wgmma.few) print_few(f);
    k = cuda_kernel_next(f->g, f->gr, "combine");
    kernel_schedule(k, &grid_filter_kind, &f->s, sizeof f->s);
    print_combine(f, k, round, parts);
  }
}

bool cuda_filter(Gen *g, const Group *gr) {
  if (gr->root->kind != OP_CONV_FILTER_GRAD) return false;
  FilterGrad f = {.g = g,
                  .gr = gr,
                  .op = gr->root,
                  .c = conv_geom(gr->e, gr->root),
                  .T = dtype_compute(value_type(gr->e, gr->root->operands[0])->dtype)};
  f.bounded = dims_bounded(f.c.x, 0, 4);
  f.s = cuda_filter_schedule(cuda_target(g->target), gr,
                             cuda_on_tensor_cores(g, cuda_conv_narrow(gr)));
  cuda_conv_check_bounds(g, gr, &f.c);
  if (!f.s.bm && !f.s.depthwise.units) return false;
  Kernel *k = cuda_kernel(g, gr);
  k->flops = op_flops(gr->e, gr->op);
  if (f.s.parts) {
    print_rounds(&f, k);
    return true;
  }
  k->grid = f.s.blocks;
  k->block = block_of(&f, k);
  k->min_blocks = blocks_of(&f, k);
  k->shared = f.s.shared;
  kernel_schedule(k, &grid_filter_kind, &f.s, sizeof f.s);
  print_tile(&f, &k->text);
  print_whole(&f, &k->text);
  return true;
}
