/* Products: C[M, N] = op(A) op(B), one or a batch, with element-wise work on C fused behind. Half
   precisions, and f32 that the program has rounded to tf32, go through tensor cores
   (text/tensor.h, of few rows thin_tensor.h), all else through text/gemm.h. Contract: the operands
   are inputs of the group and row-major, their rows padded or not; not on tensor cores an element
   of C has the same chains of fma as on the CPU. Few tiles of much depth are divided in parts of
   it, whose number the shape gives; a second launch adds them in order. A thread reads the other
   operands of an element before it writes it, so results may lie over them. */
#include "codegen/gpu/matmul.h"

enum {
  QUANTIZED_THREADS = 384 /* of a multiprocessor that has registers for them, of thin products that
                             make numbers of integers: 168 each */
};

/* Elements from one row to the next of an operand as it is stored. */
static int64_t row_of(const Group *gr, ValueId v) {
  const Value *x = value_at(gr->e, gr->in[group_arg(gr, v)]);
  return layout_row(x->type, x->layout);
}

static bool is_quantized(const Op *mm) { return mm->kind == OP_QUANTIZED_MATMUL; }
static bool is_ta(const Op *mm) { return !is_quantized(mm) && mm->attr[AT_TA].i; }
static int depth_axis(const Op *mm, const Type *a) { return a->rank - (is_ta(mm) ? 2 : 1); }

/* Elements of axes [from, to) of a run that has one of what it decides. */
static int64_t least_of(const Type *t, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++) {
    const Extent *x = type_extent(t, i);
    n *= x ? t->dim[i] / x->bound : t->dim[i];
  }
  return n;
}

static GridProductShape shape_of(const Entry *e, const Op *mm) {
  const Type *a = value_type(e, mm->operands[0]), *b = value_type(e, mm->operands[1]),
             *c = value_type(e, mm->results[0]);
  int k_axis = depth_axis(mm, a);
  GridProductShape shape = {.batch = 1,
                            .m = c->dim[c->rank - 2],
                            .n = c->dim[c->rank - 1],
                            .k = a->dim[k_axis],
                            .ta = is_ta(mm),
                            .a_row = a->dim[a->rank - 1],
                            .b_row = b->dim[b->rank - 1],
                            .in = a->dtype};
  if (is_quantized(mm)) {
    shape.tb = mm->attr[AT_AXIS].i == 1;
    shape.bits = (int)mm->attr[AT_BITS].i;
    shape.group = mm->attr[AT_GROUP].i;
  } else {
    shape.tb = mm->attr[AT_TB].i;
    shape.tensor = mm->attr[AT_TF32].i;
  }
  shape.tensor |= dtype_is_half(shape.in);
  for (int i = 0; i < c->rank - 2; i++) shape.batch *= c->dim[i];
  shape.whole = dims_bounded(a, k_axis, k_axis + 1);
  shape.varies = shape.whole || dims_bounded(c, 0, c->rank - 1);
  shape.least_batch = least_of(c, 0, c->rank - 2);
  shape.least_m = least_of(c, c->rank - 2, c->rank - 1);
  return shape;
}

static GridProductShape shape_in(const CudaTarget *t, const Group *gr) {
  GridProductShape shape = shape_of(gr->e, gr->root);
  shape.async = !t->pre_sm80;
  shape.a_row = row_of(gr, gr->root->operands[0]);
  shape.b_row = row_of(gr, gr->root->operands[1]);
  return shape;
}

static int64_t with_padding(const CudaTarget *t, const GridProductShape *shape, int64_t row) {
  const int64_t padded = padded_elements(row, dtype_size(shape->in), t->t.row_bytes);
  return padded ? padded : row;
}

int cuda_transposed_operand(const Target *target, const Entry *e, const Op *op,
                            const bool *padded) {
  const CudaTarget *t = cuda_target(target);
  if (!t->sm90a || t->pre_sm80) return -1;
  GridProductShape shape = shape_of(e, op);
  if (padded[op->operands[0]]) shape.a_row = with_padding(t, &shape, shape.a_row);
  if (padded[op->operands[1]]) shape.b_row = with_padding(t, &shape, shape.b_row);
  return product_transposed_operand(&t->machine, &shape, with_padding(t, &shape, shape.k));
}

/* Others are copied first, with rows where wide copies can begin. */
bool cuda_rounds_operand(const Target *target, const Entry *e, const Op *op, int i) {
  const CudaTarget *t = cuda_target(target);
  const Type *x = value_type(e, op->operands[i]);
  return !t->pre_sm80 && op->kind == OP_MATMUL && op->attr[AT_TF32].i &&
         x->dim[x->rank - 1] * dtype_size(x->dtype) % t->t.row_bytes == 0;
}

bool cuda_multiplies_quantized(const Target *t, const Entry *e, const Op *op) {
  if (!is_quantized(op) || type_extent(value_type(e, op->operands[0]), 1)) return false;
  const GridProductShape shape = shape_of(e, op);
  return shape.in != DT_F64 && value_type(e, op->operands[2])->dtype == DT_BF16 &&
         grid_product_is_quantized(&cuda_target(t)->machine, &shape);
}

uint64_t cuda_product_scratch(const CudaTarget *t, const Group *gr) {
  const GridProductShape shape = shape_in(t, gr);
  const GridProductSchedule s = grid_product_schedule(&t->machine, &shape);
  return grid_product_scratch(&s);
}

static GridProduct product_of(Gen *g, const Group *gr) {
  const Op *mm = gr->root;
  const Type *a = value_type(gr->e, mm->operands[0]), *c = value_type(gr->e, mm->results[0]);
  int k_axis = depth_axis(mm, a);
  const CudaTarget *t = cuda_target(g->target);
  GridProductShape shape = shape_in(t, gr);
  const bool narrow = shape.tensor;
  shape.tensor = cuda_on_tensor_cores(g, narrow);
  shape.whole |= narrow && !shape.tensor; /* scratch is that of tensor cores */
  const bool round_a = !is_quantized(mm) && mm->attr[AT_ROUND_A].i,
             round_b = !is_quantized(mm) && mm->attr[AT_ROUND_B].i;
  shape.async &= shape.tensor || !(round_a || round_b); /* rounded in registers, on the way */
  return (GridProduct){.s = grid_product_schedule(&t->machine, &shape),
                       .rounded = product_dtype(c->dtype) != c->dtype,
                       .round_a = round_a,
                       .round_b = round_b,
                       .a = group_arg(gr, mm->operands[0]),
                       .b = group_arg(gr, mm->operands[1]),
                       .scale = shape.bits ? group_arg(gr, mm->operands[2]) : -1,
                       .batch = dims_text(g, gr->e, c, 0, c->rank - 2),
                       .m = dims_text(g, gr->e, c, c->rank - 2, c->rank - 1),
                       .k = dims_text(g, gr->e, a, k_axis, k_axis + 1)};
}

/* Maps of an operand stored [edge, k], or across: [k, edge], whose boxes `parts` blocks share; see
   text/wgmma.h. In phases several rows are one. */
static KernelMap map_of(const GridProduct *p, const char *name, int arg, int64_t row, int64_t edge,
                        bool across, int64_t rows, int parts, bool phased) {
  const int64_t down = across ? p->s.k : edge, all = row * down;
  const int depth = wgmma_depth(&p->s);
  if (phased)
    return (KernelMap){.name = name,
                       .arg = arg,
                       .dtype = p->s.in,
                       .size = {row * WGMMA_PHASES, down / WGMMA_PHASES, p->s.batch, 1},
                       .stride = {1, row * WGMMA_PHASES, all, all * p->s.batch},
                       .box = {depth, rows / WGMMA_PHASES, 1, 1}};
  return (KernelMap){.name = name,
                     .arg = arg,
                     .dtype = p->s.in,
                     .size = {across ? edge : p->s.k, down, p->s.batch, 1},
                     .stride = {1, row, all, all * p->s.batch},
                     .box = {depth, (across ? depth : rows) / parts, 1, 1}};
}

/* The code for sm_90a, where the product is one for it. */
static void print_sm90a(Gen *g, const Group *gr, Kernel *k, const GridProduct *plain) {
  GridProduct p = *plain;
  if (!wgmma_schedule(&plain->s, &p.s)) return;
  KernelVariant *own = ARENA_NEW(g->a, KernelVariant);
  *own = (KernelVariant){
      .text = text_new(g->a, 1), .grid = p.s.blocks, .block = p.s.threads, .shared = p.s.shared};
  own->min_blocks = 1, own->maps = 2, own->cluster = p.s.cluster;
  own->persistent = true;
  const bool turned = p.s.turned;
  own->map[turned] = map_of(&p, turned ? "map_b" : "map_a", p.a, p.s.a_row, p.s.m, p.s.ta, p.s.bm,
                            turned ? p.s.cluster : 1, p.s.phased);
  own->map[!turned] = map_of(&p, turned ? "map_a" : "map_b", p.b, p.s.b_row, p.s.n, !p.s.tb, p.s.bn,
                             turned ? 1 : p.s.cluster, false);
  Text *x = &own->text;
  const int stages = wgmma_stages(&p.s);
  const char *phases = "";
  if (p.s.phased) phases = arena_printf(g->a, ", %lld", (long long)p.s.a_row);
  text_line(x, "typedef WgmmaTile<%s, %lld, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d%s> Tile;",
            p.s.in == DT_F32   ? "WgmmaTf32"
            : p.s.in == DT_F16 ? "WgmmaF16"
                               : "WgmmaBf16",
            (long long)p.s.batch, (long long)(turned ? p.s.n : p.s.m),
            (long long)(turned ? p.s.m : p.s.n), (long long)(p.s.most ? p.s.k : p.s.part),
            (turned ? !p.s.tb : p.s.ta) ? "true" : "false",
            (turned ? !p.s.ta : p.s.tb) ? "true" : "false", wgmma_columns(&p.s), stages,
            p.s.cluster, grid_product_parts(&p.s), phases);
  text_line(x, "extern __shared__ __align__(1024) char ring[];");
  text_line(x, "__shared__ uint64_t full[%d], empty[%d];", stages, stages);
  cuda_product_parts(g, x, &p);
  text_line(x, "Tile::start(full, empty);");
  text_open(x, "if (threadIdx.x < Tile::GROUP) {");
  /* how many of each there are in this run */
  const bool fewer = rows_bounded(&p) || !text_is_number(p.batch);
  const char *columns = arena_printf(g->a, "%lld", (long long)p.s.n), *depth = "";
  const char *all = arena_printf(g->a, ", (int)%s, (int)%s, (int)%s", p.batch,
                                 turned ? columns : p.m, turned ? p.m : columns);
  if (depth_bounded(&p) || p.s.most) depth = arena_printf(g->a, ", (int)%s", p.k);
  const char *counts = fewer || *depth ? arena_printf(g->a, "%s%s", all, depth) : "";
  if (p.s.most) counts = arena_printf(g->a, "%s, parts, length", counts);
  text_line(x, "Tile::copy(ring, full, empty, &map_a, &map_b%s);", counts);
  text_close(x, "} else {");
  x->indent++;
  text_line(x, "registers_take<232>();");
  text_line(x, "Tile::Place place = {0, 0};");
  text_open(x, "for (int tile = (int)blockIdx.x; tile < Tile::TILES; tile += (int)gridDim.x) {");
  text_line(x, "int part, bt, m0, n0;");
  const char *first = turned ? "n0, m0" : "m0, n0";
  text_line(x, "Tile::tile_coords(tile, part, bt, %s);", first);
  if (p.s.most) text_line(x, "if (part >= parts) continue;");
  if (fewer) text_line(x, "if (Tile::Bounds::behind(bt, %s%s)) continue;", first, all);
  if (p.s.most) depth = arena_printf(g->a, ", smaller(length, (int)%s - part * length)", p.k);
  text_line(x, "f32 c[2][%d];", wgmma_columns(&p.s) / 4);
  text_line(x, "Tile::multiply(c, ring, full, empty, place%s);", depth);
  cuda_product_store(g, gr, x, &p);
  text_close(x, "}");
  text_close(x, "}");
  text_line(x, "Tile::end();");
  k->variant = own;
}

static void print_thin_quantized_run(Gen *g, Text *x, const GridProduct *p) {
  const char *count = "";
  if (p->s.m > p->s.bm || rows_bounded(p))
    count = arena_printf(g->a, ", smaller(%d, (int)%s - m0)", p->s.bm, p->m);
  text_line(x, "tile.run(c, in%d + (int64_t)m0 * %lld, (const uint8_t *)in%d, in%d, n0%s);", p->a,
            (long long)p->s.a_row, p->b, p->scale, count);
}

static void print_thin_tensor_run(Gen *g, Text *x, const GridProduct *p) {
  const int64_t of_a = (p->s.ta ? p->s.k : p->s.m) * p->s.a_row;
  const char *length = p->s.most ? "length" : arena_printf(g->a, "%lld", (long long)p->s.part);
  const char *right =
      p->s.bits
          ? arena_printf(g->a, "QuantizedFrom{(const uint8_t *)in%d, in%d}", p->b, p->scale)
          : arena_printf(g->a, "in%d + (int64_t)bt * %lld", p->b, (long long)(p->s.k * p->s.b_row));
  text_line(x, "tile.run(c, in%d + (int64_t)bt * %lld, %s, n0, (int)%s, %s);", p->a,
            (long long)of_a, right, p->m, length);
}

/* The block's part of the depth is multiplied, of which there may be several: `divided`. */
static void print_run(Gen *g, Text *x, const GridProduct *p, bool divided) {
  const char *counts = "", *of_part = "", *of_part_b = "", *of_scales = "", *within = "";
  if (divided) {
    const char *length = p->s.most ? "length" : arena_printf(g->a, "%lld", (long long)p->s.part);
    if (p->s.tensor || p->s.k % p->s.part)
      counts = arena_printf(g->a, ", %s, smaller(%s, (int)%s - k0)", p->m, length, p->k);
    else if (rows_bounded(p))
      counts = arena_printf(g->a, ", %s", p->m);
    of_part = arena_printf(g->a, " + (int64_t)k0 * %lld", p->s.ta ? (long long)p->s.a_row : 1);
    const long long down = p->s.tb ? 1 : (long long)p->s.b_row;
    of_part_b = arena_printf(g->a, " + (int64_t)k0%s * %lld", p->s.bits == 4 ? " / 2" : "", down);
    if (p->s.tensor && p->s.bits && p->s.group > DEPTH_UNIT)
      within = arena_printf(g->a, ", k0 %% %lld", (long long)p->s.group);
    if (p->s.bits)
      of_scales = arena_printf(g->a, " + (int64_t)k0 / %lld * %lld", (long long)p->s.group, down);
  } else if (depth_bounded(p))
    counts = arena_printf(g->a, ", %s, %s", p->m, p->k);
  else if (rows_bounded(p))
    counts = arena_printf(g->a, ", %s", p->m);
  const int64_t of_product = p->s.batch > 1 ? (p->s.tb ? p->s.n : p->s.k) * p->s.b_row : 0;
  const char *right = p->s.bits
                          ? arena_printf(g->a, "QuantizedFrom{(const uint8_t *)in%d%s, in%d%s%s}",
                                         p->b, of_part_b, p->scale, of_scales, within)
                          : arena_printf(g->a, "in%d + (int64_t)bt * %lld%s", p->b,
                                         (long long)of_product, of_part_b);
  text_line(x, "%srun(c, %sin%d + (int64_t)bt * %lld%s, %s, m0, n0%s);",
            p->s.tensor ? "Tile::" : "tile.", p->s.tensor ? "smem, " : "", p->a,
            (long long)((p->s.ta ? p->s.k : p->s.m) * p->s.a_row), of_part, right, counts);
}

/* Before it waits for the launch in front, a block asks for its columns of B, as of weights: what
   that launch leaves idle of the memory brings them. Not more than L2 has room for beside what
   others have there. */
static void print_prefetch(Gen *g, Kernel *k, const GridProduct *p) {
  enum { ROOM = 16 << 20 };
  if (!p->s.thin || p->s.tb || p->s.batch != 1 || depth_bounded(p) || p->s.m > p->s.bm) return;
  const int numbers = p->s.bits ? 8 / p->s.bits : 1, size = p->s.bits ? 1 : dtype_size(p->s.in);
  const int64_t rows = ceil_div(p->s.k, numbers), stride = p->s.b_row * size;
  int64_t part = (grid_product_within(&p->s) ? p->s.part : DEPTH) / numbers;
  if (part > rows) part = rows;
  int64_t ahead = ROOM / (stride * ceil_div(rows, part));
  if (ahead > part) ahead = part;
  if (ahead < 1) return;
  k->early = text_new(g->a, 1);
  const int64_t columns = p->s.n < p->s.bn ? p->s.n : p->s.bn;
  text_line(&k->early, "if ((int64_t)(blockIdx.x + 1) * %d <= %lld)", p->s.bn,
            (long long)(p->s.n < p->s.bn ? p->s.bn : p->s.n)); /* all of the block's columns */
  text_line(
      &k->early,
      "  prefetch_rows<%d, %lld, %lld, %lld>((const char *)p%d + (int64_t)blockIdx.x * %d, %lld);",
      (int)columns * size, (long long)stride, (long long)part, (long long)ahead, p->b,
      p->s.bn * size, (long long)rows);
}

void cuda_matmul(Gen *g, const Group *gr) {
  GridProduct p = product_of(g, gr);
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = 2 * (uint64_t)p.s.batch * (uint64_t)p.s.m * (uint64_t)p.s.n * (uint64_t)p.s.k;
  const int parts = grid_product_parts(&p.s);
  const bool within = grid_product_within(&p.s);
  long long across = p.s.across, blocks = p.s.blocks / (within ? 1 : p.s.parts),
            tiles = p.s.batch ? blocks / p.s.batch : 0;
  kernel_schedule(k, &grid_product_kind, &p.s, sizeof p.s);
  k->grid = blocks * parts;
  k->block = p.s.threads;
  k->shared = p.s.shared;
  cuda_counts(g, gr->root, p.s.m, "rows");
  cuda_counts(g, gr->root, p.s.n, "columns");
  cuda_counts(g, gr->root, p.s.k, "elements a sum");
  if (p.s.thin)
    k->min_blocks =
        p.s.bits && p.s.threads < QUANTIZED_THREADS ? QUANTIZED_THREADS / p.s.threads : 1;
  else if (!p.s.tensor) /* not busy: there is one for each multiprocessor at most */
    k->min_blocks = p.s.shared ? LARGE_TILE_BLOCKS : !p.s.busy;
  cuda_product_tile(g, x, &p);
  print_prefetch(g, k, &p);
  const char *block = parts > 1 ? "block" : "blockIdx.x",
             *length = p.s.most ? "length" : arena_printf(g->a, "%lld", (long long)p.s.part);
  cuda_product_parts(g, x, &p);
  if (parts > 1) {
    text_line(x, "const unsigned block = blockIdx.x %% %lldu;", blocks);
    text_line(x, "const int part = (int)(blockIdx.x / %lldu), k0 = part * %s;", blocks, length);
  }
  if (p.s.most && !within) text_line(x, "if (part >= parts) return;");
  if (p.s.batch > 1)
    text_line(x, "const int bt = (int)(%s / %lldu), at = (int)(%s %% %lldu);", block, tiles, block,
              tiles);
  else
    text_line(x, "const int bt = 0, at = (int)%s;", block);
  if (p.s.tensor && !within) {
    text_line(x, "int m0, n0;");
    text_line(x, "Tile::tile_coords(at, m0, n0);");
  } else {
    text_line(x, "const int m0 = at / %lld * %d, n0 = at %% %lld * %d;", across, p.s.bm, across,
              p.s.bn);
  }
  if (!text_is_number(p.batch)) text_line(x, "if (bt >= %s) return;", p.batch);
  if (rows_bounded(&p)) text_line(x, "if (m0 >= %s) return;", p.m);
  text_line(x, "%s c[%d][%d];", dtype_prefix(p.s.dt), p.s.tm, p.s.tn);
  if (p.s.thin && (p.s.bits || within)) {
    (within ? print_thin_tensor_run : print_thin_quantized_run)(g, x, &p);
    cuda_product_store(g, gr, x, &p);
    return;
  }
  if (p.s.most && !depth_bounded(&p)) { /* a whole depth is static */
    text_open(x, "if (parts > 1) {");
    print_run(g, x, &p, true);
    text_close(x, "} else {");
    x->indent++;
    print_run(g, x, &p, false);
    text_close(x, "}");
  } else {
    print_run(g, x, &p, parts > 1);
  }
  cuda_product_store(g, gr, x, &p);
  print_sm90a(g, gr, k, &p);
  if (parts > 1) cuda_product_combine(g, gr, &p);
}
