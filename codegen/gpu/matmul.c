/* Products: C[M, N] = op(A) op(B), one or a batch, with element-wise work on C fused behind. Half
   precisions, and f32 that the program has rounded to tf32, go through tensor cores
   (text/tensor.h), all else through text/gemm.h. Contract: the operands are inputs of the group and
   row-major, their rows padded or not; not on tensor cores an element of C has the same chains of
   fma as on the CPU. Few tiles of much depth are divided in parts of it, whose number the shape
   gives; a second launch adds them in order. A thread reads the other operands of an element before
   it writes it, so results may lie over them. */
#include "codegen/gpu/matmul.h"

/* Elements from one row to the next of an operand as it is stored. */
static int64_t row_of(const Group *gr, ValueId v) {
  const Value *x = value_at(gr->e, gr->in[group_arg(gr, v)]);
  return layout_row(x->type, x->layout);
}

static bool is_quantized(const Op *mm) { return mm->kind == OP_QUANTIZED_MATMUL; }
static bool is_ta(const Op *mm) { return !is_quantized(mm) && mm->attr[AT_TA].i; }
static int depth_axis(const Op *mm, const Type *a) { return a->rank - (is_ta(mm) ? 2 : 1); }

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

/* Of few rows of f32 the time is that of the integers' bytes; more that may be rounded are sooner
   multiplied on tensor cores. */
bool cuda_multiplies_quantized(const Target *t, const Entry *e, const Op *op, bool rounded) {
  enum { FEW = 32 };
  if (!is_quantized(op) || type_extent(value_type(e, op->operands[0]), 1)) return false;
  const GridProductShape shape = shape_of(e, op);
  if (rounded && shape.in == DT_F32 && shape.m > FEW && !cuda_target(t)->pre_sm80) return false;
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
  return (GridProduct){.s = grid_product_schedule(&t->machine, &shape),
                       .rounded = product_dtype(c->dtype) != c->dtype,
                       .a = group_arg(gr, mm->operands[0]),
                       .b = group_arg(gr, mm->operands[1]),
                       .scale = shape.bits ? group_arg(gr, mm->operands[2]) : -1,
                       .batch = dims_text(g, gr->e, c, 0, c->rank - 2),
                       .m = dims_text(g, gr->e, c, c->rank - 2, c->rank - 1),
                       .k = dims_text(g, gr->e, a, k_axis, k_axis + 1)};
}

/* Positions of C: batch axes from bt, then row, then a column that the vector names. Another domain
   has its leading axes from the row among all of the batch. */
static Printer site(Gen *g, const Group *gr, const GridProduct *p) {
  Printer s = printer_new(g, gr, 3, 1);
  const Type *c = value_type(gr->e, gr->root->results[0]);
  Coord *lead = s.coord + (gr->matrix ? gr->domain->rank : 0);
  int64_t stride = 1;
  for (int i = c->rank - 3; i >= 0; i--) {
    lead[i].text =
        i ? arena_printf(g->a, "(bt / %lld %% %lld)", (long long)stride, (long long)c->dim[i])
          : arena_printf(g->a, "(bt / %lld)", (long long)stride);
    lead[i].level = 1;
    stride *= c->dim[i];
  }
  lead[c->rank - 2] = (Coord){c->dim[c->rank - 2], "row", 1, NULL};
  s.coord[gr->domain->rank - 1] = (Coord){c->dim[c->rank - 1], "n", 1, NULL};
  if (gr->matrix)
    printer_leading(
        &s, p->s.batch == 1 ? "row" : arena_printf(g->a, "((%s)bt * %s + row)", g->index, p->m), 1);
  return s;
}

/* The root is this text, of element l of a vector of v, rounded if the product is. */
static void bind_root(Gen *g, const Group *gr, const GridProduct *p, Printer *s, const char *text,
                      int v) {
  ValueId root = gr->root->results[0];
  Dtype dt = value_type(gr->e, root)->dtype;
  if (p->rounded)
    text = dtype_is_float(dt) ? scalar_round_text(g->a, dt, text)
                              : arena_printf(g->a, "(%s)%s", dtype_compute(dt), text);
  printer_bind(s, root, printer_identity(s, root), (Printed){text, v > 1 ? 2 : 1});
}

/* Where the sums of a part begin that row `row` and column `n` of product `bt` has in scratch. */
static const char *sums_at(Gen *g, const GridProduct *p, const char *part) {
  return arena_printf(g->a, "(((%s)%s * %lld + bt) * %lld + row) * %lld + n", g->index, part,
                      (long long)p->s.batch, (long long)p->s.m, (long long)p->s.n);
}

static void store(Gen *g, const Group *gr, Text *x, const GridProduct *p) {
  bool sums = p->s.parts > 1;
  Printer s = site(g, gr, p);
  int vn = p->s.side, v = sums ? vn : cuda_width(gr, p->s.n);
  if (v > vn) v = vn;
  while (p->s.n % v) v /= 2;
  const bool turned = p->s.turned;
  const char *at = v > 1 ? arena_printf(g->a, "q * %d + l", v) : "q";
  const char *sum = arena_printf(g->a, "c[%s][%s]", turned ? at : "i", turned ? "i" : at);
  const char *down = turned ? "column" : "row", *side = turned ? "row" : "col"; /* of its tile */
  if (!sums) bind_root(g, gr, p, &s, sum, v);
  text_line(x, "#pragma unroll");
  text_open(x, "for (int i = 0; i < %d; i++) {", p->s.tm);
  text_line(x, "const int row = m0 + Tile::%s(i);", down);
  text_line(x, "#pragma unroll");
  text_open(x, "for (int q = 0; q < %d; q++) {", p->s.tn / v);
  if (v == vn)
    text_line(x, "const int n = n0 + Tile::%s(%s);", side, turned ? "0" : "q");
  else
    text_line(x, "const int n = n0 + Tile::%s(q * %d / %d) + q * %d %% %d;", side, v, vn, v, vn);
  /* whole tiles */
  const int64_t tiles = turned ? ceil_div(p->s.n, p->s.bn) : ceil_div(p->s.m, p->s.bm);
  const bool behind = p->s.cluster > 1 && tiles % p->s.cluster;
  const bool edge_m = p->s.m % p->s.bm || rows_bounded(p) || (behind && !turned),
             edge_n = p->s.n % p->s.bn || (behind && turned);
  if (edge_m && edge_n)
    text_open(x, "if (row < %s && n < %lld) {", p->m, (long long)p->s.n);
  else if (edge_m)
    text_open(x, "if (row < %s) {", p->m);
  else if (edge_n)
    text_open(x, "if (n < %lld) {", (long long)p->s.n);
  else
    text_open(x, "{");
  if (sums) {
    text_line(x, "Vec<f32, %d> sums;", v);
    text_line(x, "for (int l = 0; l < %d; l++) sums.at[l] = %s;", v, sum);
    text_line(x, "*(Vec<f32, %d> *)((f32 *)scratch + %s) = sums;", v, sums_at(g, p, "part"));
  } else {
    s.level[1]->indent = x->indent;
    cuda_vector(&s, gr->domain->rank - 1, "n", v, 1, NULL);
    text_append(x, s.level[0]);
    text_append(x, s.level[1]);
  }
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

/* The second launch: a thread adds the parts of `v` elements of C in order, and does the work fused
   behind. */
static void print_combine(Gen *g, const Group *gr, const GridProduct *p) {
  enum { SMALL_BLOCK = 64 };
  Kernel *k = cuda_kernel_next(g, gr, "combine");
  Text *x = &k->text;
  Printer s = site(g, gr, p);
  int v = cuda_width(gr, p->s.n);
  while (p->s.n % v) v /= 2;
  const long long across = p->s.n / v;
  kernel_schedule(k, &grid_product_kind, &p->s, sizeof p->s);
  k->block = SMALL_BLOCK;
  cuda_threads(g, k, p->s.batch * p->s.m * across, "u");
  text_line(x, "const int bt = (int)(u / %lld), row = (int)(u / %lld %% %lld);",
            (long long)p->s.m * across, across, (long long)p->s.m);
  text_line(x, "const int n = (int)(u %% %lld) * %d;", across, v);
  if (!text_is_number(p->batch)) text_line(x, "if (bt >= %s) return;", p->batch);
  if (rows_bounded(p)) text_line(x, "if (row >= %s) return;", p->m);
  text_line(x, "const f32 *const sums = (const f32 *)scratch + %s;", sums_at(g, p, "0"));
  text_line(x, "Vec<f32, %d> c = *(const Vec<f32, %d> *)sums;", v, v);
  text_line(x, "#pragma unroll 8");
  text_open(x, "for (int h = 1; h < %d; h++) {", p->s.parts);
  text_line(x, "const Vec<f32, %d> part = *(const Vec<f32, %d> *)(sums + (%s)h * %lld);", v, v,
            g->index, (long long)(p->s.batch * p->s.m * p->s.n));
  text_line(x, "#pragma unroll");
  text_line(x, "for (int l = 0; l < %d; l++) c.at[l] = c.at[l] + part.at[l];", v);
  text_close(x, "}");
  bind_root(g, gr, p, &s, v > 1 ? "c.at[l]" : "c.at[0]", v);
  s.level[1]->indent = x->indent;
  cuda_vector(&s, gr->domain->rank - 1, "n", v, 1, NULL);
  text_append(x, s.level[0]);
  text_append(x, s.level[1]);
}

/* Maps of an operand stored [edge, k], or across: [k, edge], whose boxes `parts` blocks share; see
   text/wgmma.h. */
static KernelMap map_of(const GridProduct *p, const char *name, int arg, int64_t row, int64_t edge,
                        bool across, int64_t rows, int parts) {
  const int64_t down = across ? p->s.k : edge, all = row * down;
  const int depth = wgmma_depth(&p->s);
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
                            turned ? p.s.cluster : 1);
  own->map[!turned] = map_of(&p, turned ? "map_a" : "map_b", p.b, p.s.b_row, p.s.n, !p.s.tb, p.s.bn,
                             turned ? 1 : p.s.cluster);
  Text *x = &own->text;
  const int stages = wgmma_stages(&p.s);
  text_line(x, "typedef WgmmaTile<%s, %lld, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d> Tile;",
            p.s.in == DT_F32   ? "WgmmaTf32"
            : p.s.in == DT_F16 ? "WgmmaF16"
                               : "WgmmaBf16",
            (long long)p.s.batch, (long long)(turned ? p.s.n : p.s.m),
            (long long)(turned ? p.s.m : p.s.n), (long long)p.s.part,
            (turned ? !p.s.tb : p.s.ta) ? "true" : "false",
            (turned ? !p.s.ta : p.s.tb) ? "true" : "false", wgmma_columns(&p.s), stages,
            p.s.cluster, p.s.parts);
  text_line(x, "extern __shared__ __align__(1024) char ring[];");
  text_line(x, "__shared__ uint64_t full[%d], empty[%d];", stages, stages);
  text_line(x, "Tile::start(full, empty);");
  text_open(x, "if (threadIdx.x < Tile::GROUP) {");
  /* how many of each there are in this run */
  const bool fewer = rows_bounded(&p) || !text_is_number(p.batch);
  const char *columns = arena_printf(g->a, "%lld", (long long)p.s.n), *depth = "";
  const char *all = arena_printf(g->a, ", (int)%s, (int)%s, (int)%s", p.batch,
                                 turned ? columns : p.m, turned ? p.m : columns);
  if (depth_bounded(&p)) depth = arena_printf(g->a, ", (int)%s", p.k);
  const char *counts = fewer || *depth ? arena_printf(g->a, "%s%s", all, depth) : "";
  text_line(x, "Tile::copy(ring, full, empty, &map_a, &map_b%s);", counts);
  text_close(x, "} else {");
  x->indent++;
  text_line(x, "registers_take<232>();");
  text_line(x, "Tile::Place place = {0, 0};");
  text_open(x, "for (int tile = (int)blockIdx.x; tile < Tile::TILES; tile += (int)gridDim.x) {");
  text_line(x, "int part, bt, m0, n0;");
  const char *first = turned ? "n0, m0" : "m0, n0";
  text_line(x, "Tile::tile_coords(tile, part, bt, %s);", first);
  if (fewer) text_line(x, "if (Tile::Bounds::behind(bt, %s%s)) continue;", first, all);
  text_line(x, "f32 c[2][%d];", wgmma_columns(&p.s) / 4);
  text_line(x, "Tile::multiply(c, ring, full, empty, place%s);", depth);
  store(g, gr, x, &p);
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

void cuda_matmul(Gen *g, const Group *gr) {
  GridProduct p = product_of(g, gr);
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = 2 * (uint64_t)p.s.batch * (uint64_t)p.s.m * (uint64_t)p.s.n * (uint64_t)p.s.k;
  long long across = p.s.across, blocks = p.s.blocks / p.s.parts,
            tiles = p.s.batch ? blocks / p.s.batch : 0;
  kernel_schedule(k, &grid_product_kind, &p.s, sizeof p.s);
  k->grid = p.s.blocks;
  k->block = p.s.threads;
  k->shared = p.s.shared;
  cuda_counts(g, gr->root, p.s.m, "rows");
  cuda_counts(g, gr->root, p.s.n, "columns");
  cuda_counts(g, gr->root, p.s.k, "elements a sum");
  if (p.s.thin)
    k->min_blocks = 1;
  else if (!p.s.tensor)
    k->min_blocks = !p.s.busy; /* there is one for each multiprocessor at most */
  cuda_product_tile(g, x, &p);
  const char *block = p.s.parts > 1 ? "block" : "blockIdx.x";
  if (p.s.parts > 1) {
    text_line(x, "const unsigned block = blockIdx.x %% %lldu;", blocks);
    text_line(x, "const int part = (int)(blockIdx.x / %lldu), k0 = part * %lld;", blocks,
              (long long)p.s.part);
  }
  if (p.s.batch > 1)
    text_line(x, "const int bt = (int)(%s / %lldu), at = (int)(%s %% %lldu);", block, tiles, block,
              tiles);
  else
    text_line(x, "const int bt = 0, at = (int)%s;", block);
  if (p.s.tensor) {
    text_line(x, "int m0, n0;");
    text_line(x, "Tile::tile_coords(at, m0, n0);");
  } else {
    text_line(x, "const int m0 = at / %lld * %d, n0 = at %% %lld * %d;", across, p.s.bm, across,
              p.s.bn);
  }
  if (!text_is_number(p.batch)) text_line(x, "if (bt >= %s) return;", p.batch);
  if (rows_bounded(&p)) text_line(x, "if (m0 >= %s) return;", p.m);
  text_line(x, "%s c[%d][%d];", dtype_prefix(p.s.dt), p.s.tm, p.s.tn);
  if (p.s.bits && p.s.thin) {
    print_thin_quantized_run(g, x, &p);
    store(g, gr, x, &p);
    return;
  }
  const char *counts = "", *of_part = "", *of_part_b = "", *of_scales = "";
  if (p.s.parts > 1) {
    if (p.s.tensor || p.s.k % p.s.part)
      counts = arena_printf(g->a, ", %s, smaller(%lld, %lld - k0)", p.m, (long long)p.s.part,
                            (long long)p.s.k);
    else if (rows_bounded(&p))
      counts = arena_printf(g->a, ", %s", p.m);
    of_part = arena_printf(g->a, " + (int64_t)k0 * %lld", p.s.ta ? (long long)p.s.a_row : 1);
    const long long down = p.s.tb ? 1 : (long long)p.s.b_row;
    of_part_b = arena_printf(g->a, " + (int64_t)k0%s * %lld", p.s.bits == 4 ? " / 2" : "", down);
    if (p.s.bits)
      of_scales = arena_printf(g->a, " + (int64_t)k0 / %lld * %lld", (long long)p.s.group, down);
  } else if (rows_bounded(&p) || depth_bounded(&p))
    counts = arena_printf(g->a, ", %s, %s", p.m, p.k);
  const char *right =
      p.s.bits ? arena_printf(g->a, "QuantizedFrom{(const uint8_t *)in%d%s, in%d%s}", p.b,
                              of_part_b, p.scale, of_scales)
               : arena_printf(g->a, "in%d + (int64_t)bt * %lld%s", p.b,
                              (long long)(p.s.batch > 1 ? (p.s.tb ? p.s.n : p.s.k) * p.s.b_row : 0),
                              of_part_b);
  text_line(x, "%srun(c, %sin%d + (int64_t)bt * %lld%s, %s, m0, n0%s);",
            p.s.tensor ? "Tile::" : "tile.", p.s.tensor ? "smem, " : "", p.a,
            (long long)((p.s.ta ? p.s.k : p.s.m) * p.s.a_row), of_part, right, counts);
  store(g, gr, x, &p);
  print_sm90a(g, gr, k, &p);
  if (p.s.parts > 1) print_combine(g, gr, &p);
}
