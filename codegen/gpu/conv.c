/* Convolutions and their gradients with respect to the image on the GPU, as implicit GEMM in tiles
   (text/conv.h). Contract: the CPU's bits: an element is one chain of fma over the filter's rows,
   columns and channels, without the taps in the padding. A thread reads the other operands of an
   element before it writes it, so results may lie over them. */
#include "codegen/gpu/conv.h"
#include "codegen/print/printer.h"
#include "codegen/program/extent.h"

bool cuda_conv_narrow(const Group *gr) {
  return dtype_is_half(value_type(gr->e, gr->root->operands[0])->dtype) ||
         gr->root->attr[AT_TF32_OPERANDS].i;
}

const char *cuda_conv_source(Gen *g, const Group *gr, int along) {
  if (along) return arena_printf(g->a, "ConvPatches<Geometry, %s, %d>", g->index, along);
  return arena_printf(g->a, "%s<Geometry, %s>",
                      gr->root->kind == OP_CONV ? "ConvForward" : "ConvInputGrad", g->index);
}

/* On tensor cores or not, which an option says. */
uint64_t cuda_conv_scratch(const CudaTarget *t, const Group *gr) {
  return cuda_conv_narrow(gr) ? cuda_conv_schedule(t, gr, true).wgmma.scratch : 0;
}

void cuda_conv_geometry(Text *x, const ConvGeom *c, const PixelChunks *chunks) {
  const struct {
    const char *name;
    int64_t n;
  } fields[] = {{"N", c->n},         {"CIN", c->cin},       {"COUT", c->cout},
                {"GIN", c->gin},     {"GOUT", c->gout},     {"H", c->h.in},
                {"W", c->w.in},      {"OH", c->h.out},      {"OW", c->w.out},
                {"KH", c->h.taps},   {"KW", c->w.taps},     {"SH", c->h.stride},
                {"SW", c->w.stride}, {"DH", c->h.dilation}, {"DW", c->w.dilation},
                {"PH", c->h.lo},     {"PW", c->w.lo}};
  Text line = text_new(x->a, 0);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    text_add(&line, "%s%s = %lld", i ? ", " : "", fields[i].name, (long long)fields[i].n);
  if (chunks)
    text_add(&line, ", FRAME = %lld, CHUNK = %lld", (long long)chunks->frame,
             (long long)chunks->chunk);
  text_line(x, "struct Geometry { enum { %s }; };", text_str(&line));
}

void cuda_conv_result(Gen *g, const Group *gr, Text *x, const char *group, const char *acc) {
  const Type *t = gr->domain;
  const ConvGeom c = conv_geom(gr->e, gr->root);
  text_line(x, "const %s i0 = of.n, i2 = of.y, j0 = of.x;", g->index);
  text_line(x, "const %s i1 = %s * %lld + m;", g->index, group,
            (long long)(gr->root->kind == OP_CONV ? c.gout : c.gin));
  text_line(x, "const %s u = ((i0 * %lld + i1) * %lld + i2) * %lld + j0;", g->index,
            (long long)t->dim[1], (long long)t->dim[2], (long long)t->dim[3]);
  EpilogueSite site = {.shape = t,
                       .coord = (const char *[]){"i0", "i1", "i2", "j0"},
                       .flat = "u",
                       .have = gr->root->results[0],
                       .have_text = acc};
  epilogue_body(g, x, gr, &site);
}

void cuda_conv_size(Gen *g, const Entry *e, Text *x, const ConvGeom *c, const char *frame,
                    const char *chunk) {
  const struct {
    const char *name, *n;
  } fields[] = {{"N", dims_text(g, e, c->x, 0, 1)},
                {"H", dims_text(g, e, c->x, 2, 3)},
                {"W", dims_text(g, e, c->x, 3, 4)},
                {"OH", dims_text(g, e, c->y, 2, 3)},
                {"OW", dims_text(g, e, c->y, 3, 4)},
                {"FRAME", frame},
                {"CHUNK", chunk}};
  Text of_run = text_new(x->a, 0), constant = text_new(x->a, 0), values = text_new(x->a, 0);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const char *n = fields[i].n;
    if (!n) continue;
    if (text_is_number(n)) {
      text_add(&constant, "%s%s = %s", constant.s.n ? ", " : "", fields[i].name, n);
      continue;
    }
    text_add(&of_run, "%s%s", of_run.s.n ? ", " : "", fields[i].name);
    text_add(&values, "%s(int)%s", values.s.n ? ", " : "", n);
  }
  if (!of_run.s.n) {
    text_line(x, "const Geometry size = {};");
    return;
  }
  text_line(x, "struct Sizes { int %s; enum { %s }; };", text_str(&of_run), text_str(&constant));
  text_line(x, "const Sizes size = {%s};", text_str(&values));
}

static void print_results(Gen *g, const Group *gr, Text *x, const GridConvSchedule *s) {
  text_line(x, "#pragma unroll");
  text_open(x, "for (int i = 0; i < %d; i++) {", s->tm);
  text_line(x, "#pragma unroll");
  text_open(x, "for (int j = 0; j < %d; j++) {", s->tn);
  text_line(x, "const int m = m0 + Tile::row(i);");
  text_line(x, s->box.width ? "const ConvPixel of = Tile::place(box, Tile::col(j), size);"
                            : "const ConvPixel of = Source::place(n0 + Tile::col(j), size);");
  text_line(x, "if (m >= %lld || !of.in) continue;", (long long)s->m);
  cuda_conv_result(g, gr, x, "group", "acc[i][j]");
  text_close(x, "}");
  text_close(x, "}");
}

/* The converter of f32 filters that the op rounds to what its images have. */
static const char *rounding(Dtype in) {
  return in == DT_F16 ? "RoundF16" : in == DT_BF16 ? "RoundBf16" : "RoundTf32";
}

/* Columns side by side of a thread, stored in vectors: all rows have the same, and fill them. */
static int planes_width(const Group *gr, const GridPlanesSchedule *s) {
  const Type *t = gr->domain;
  if (dims_bounded(t, 3, 4) || t->dim[3] % s->across) return 1;
  const int v = cuda_width(gr, t->dim[3]);
  return v < s->across ? v : s->across;
}

/* The sums of a thread in row p of its task, in vectors of v. */
static void print_vectors(Gen *g, const Group *gr, Text *x, const GridPlanesSchedule *s, int v) {
  const ValueId root = gr->root->results[0];
  const Dtype dt = value_type(gr->e, root)->dtype;
  static const char *const at[] = {"i0", "i1", "i2", "i3"};
  Printer r = printer_new(g, gr, 3, 1);
  for (int i = 0; i < 4; i++) r.coord[i].text = at[i], r.coord[i].level = 1;
  const char *sum =
      arena_printf(g->a, "acc[p][%s]", v < s->across ? arena_printf(g->a, "q * %d + l", v) : "l");
  printer_bind(&r, root, printer_identity(&r, root),
               (Printed){scalar_round_text(g->a, dt, sum), 2});
  text_line(x, "const %s i0 = task.n, i1 = task.channel, i2 = task.y + p;", g->index);
  if (v < s->across) text_line(x, "#pragma unroll");
  text_open(x, v < s->across ? "for (int q = 0; q < %d; q++) {" : "{", s->across / v);
  text_line(x, v < s->across ? "const %s i3 = task.x + q * %d;" : "const %s i3 = task.x;", g->index,
            v);
  r.level[0]->indent = r.level[1]->indent = x->indent;
  cuda_vector(&r, 3, "i3", v, 1, NULL);
  text_append(x, r.level[0]);
  text_append(x, r.level[1]);
  text_close(x, "}");
}

/* By planes: text/depthwise.h. */
static void print_planes(Gen *g, const Group *gr, Text *x, const GridPlanesSchedule *s) {
  const Op *op = gr->root;
  const Dtype in = value_type(gr->e, op->operands[0])->dtype;
  const char *T = dtype_compute(in), *from = cuda_converter(g, in);
  const int v = planes_width(gr, s);
  text_line(x,
            "typedef DepthwiseConv<Geometry, %s, %s, %s, %s, %s, %d, %d, %d, %d, %d, %d, %d, %d, "
            "%d, %d, %d, %d> Tile;",
            g->index, T, op->attr[AT_ROUND_FILTERS].i ? rounding(in) : from, from,
            op->kind == OP_CONV ? "false" : "true", s->threads, s->units, s->rows, s->down,
            s->across, s->vector, s->copy, s->pitch, s->image, s->filter, s->before, s->behind);
  text_line(x, "__shared__ __align__(16) %s smem[%d];", T,
            s->shared / dtype_size(in == DT_F64 ? DT_F64 : DT_F32));
  text_line(x, "const int block = (int)blockIdx.x;");
  text_line(x, "if (Tile::behind(block, size)) return;");
  text_line(x, "Tile::load(smem, block, in%d, in%d, size);", group_arg(gr, op->operands[1]),
            group_arg(gr, op->operands[0]));
  text_line(x, "#pragma unroll 1");
  text_open(x, "for (int t = (int)threadIdx.x; t < Tile::tasks(block, size); t += %d) {",
            s->threads);
  text_line(x, "const typename Tile::Task task = Tile::task(block, t, size);");
  text_line(x, "if (!task.in) continue;");
  text_line(x, "%s acc[%d][%d];", T, s->down, s->across);
  text_line(x, "Tile::sum(acc, smem, task, size);");
  text_line(x, "#pragma unroll");
  text_open(x, "for (int p = 0; p < %d; p++) {", s->down);
  text_line(x, "if (task.y + p >= Tile::rows(size)) break;");
  if (v > 1) {
    print_vectors(g, gr, x, s, v);
  } else {
    text_line(x, "#pragma unroll");
    text_open(x, "for (int q = 0; q < %d; q++) {", s->across);
    text_line(x, "if (task.x + q >= Tile::cols(size)) break;");
    text_line(x, "const int m = task.channel;");
    text_line(x, "const ConvPixel of = {task.n, task.y + p, task.x + q, true};");
    cuda_conv_result(g, gr, x, "0", "acc[p][q]");
    text_close(x, "}");
  }
  text_close(x, "}");
  text_close(x, "}");
}

/* Declares the Tile of a block, and its shared memory. */
static void print_type(Gen *g, const Group *gr, Kernel *k, const GridConvSchedule *s) {
  Text *x = &k->text;
  const Dtype in = value_type(gr->e, gr->root->operands[0])->dtype;
  const bool rounds = gr->root->attr[AT_ROUND_FILTERS].i != 0;
  if (!s->box.width) text_line(x, "typedef %s Source;", cuda_conv_source(g, gr, s->along));
  if (s->tensor) {
    text_line(x, "typedef TensorConv<Source, %s, %s, %s, %d, %d, %d, %d> Tile;", g->index,
              cuda_mma(in), rounds ? "true" : "false", s->bm, s->bn, s->wm, s->wn);
    text_line(x, "extern __shared__ __align__(128) char smem[];");
  } else if (s->stages) {
    k->block = grid_conv_threads(s, k->block);
    k->min_blocks = CONV_RING_THREADS / k->block;
    if (s->box.width)
      text_line(x, "typedef ConvBox<Geometry, %s, %d, %d, %d, %d, %d, %d, %d, %d> Tile;", g->index,
                s->bm, s->bn, s->tm, s->tn, s->box.width, s->box.rows, s->box.taps, s->stages);
    else
      text_line(x, "typedef ConvRing<Source, %s, %d, %d, %d, %d, %d> Tile;", g->index, s->bm, s->bn,
                s->tm, s->tn, s->stages);
    text_line(x, "__shared__ __align__(16) Tile tile;");
  } else {
    const char *from = cuda_converter(g, in);
    text_line(x, "typedef ConvTile<Source, %s, %s, %s, %s, %d, %d, %d, %d> Tile;", g->index,
              dtype_compute(in), rounds ? rounding(in) : from, from, s->bm, s->bn, s->tm, s->tn);
    text_line(x, "__shared__ __align__(16) Tile tile;");
  }
}

/* A block computes a tile of channels by pixels. */
static void print_tiles(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                        const GridConvSchedule *s) {
  Text *x = &k->text;
  print_type(g, gr, k, s);
  text_line(x, "const int m0 = (int)(blockIdx.x %% %lldu) * %d;", (long long)s->down, s->bm);
  const char *at = arena_printf(g->a, "(int)(blockIdx.x / %lldu %% %lldu)", (long long)s->down,
                                (long long)s->across);
  if (s->box.width)
    text_line(x, "const int box = %s;", at);
  else
    text_line(x, "const int n0 = %s * %d;", at, s->bn);
  text_line(x, "const int group = (int)(blockIdx.x / %lldu);", (long long)(s->down * s->across));
  if (dims_bounded(c->x, 0, 4))
    text_line(x, s->box.width ? "if (box >= Tile::boxes(size)) return;"
                              : "if (n0 >= Source::pixels(size)) return;");
  text_line(x, "%s acc[%d][%d];", dtype_compute(value_type(gr->e, gr->root->operands[0])->dtype),
            s->tm, s->tn);
  text_line(x, "%s, in%d, in%d, group, m0, %s, size);",
            s->tensor ? "Tile::run(acc, smem" : "tile.run(acc",
            group_arg(gr, gr->root->operands[1]), group_arg(gr, gr->root->operands[0]),
            s->box.width ? "box" : "n0");
  print_results(g, gr, x, s);
}

void cuda_conv_check_bounds(Gen *g, const Group *gr, const ConvGeom *c) {
  const bool tensor = cuda_on_tensor_cores(g, cuda_conv_narrow(gr));
  if (!tensor || !dims_bounded(c->x, 0, 4) || cuda_conv_is_small(c) || g->refused) return;
  g->refused = true;
  diag(g->ctx, SEV_ERROR, gr->root->loc,
       "images have more than %d pixels at the bounds of their extents, with padding: too many for "
       "tensor cores",
       CUDA_CONV_PIXELS);
  diag(g->ctx, SEV_HINT, (Loc){0}, "lower a bound, or say --exact");
}

bool cuda_conv(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  if (op->kind != OP_CONV && op->kind != OP_CONV_INPUT_GRAD) return false;
  ConvGeom c = conv_geom(gr->e, op);
  GridConvSchedule s =
      cuda_conv_schedule(cuda_target(g->target), gr, cuda_on_tensor_cores(g, cuda_conv_narrow(gr)));
  cuda_conv_check_bounds(g, gr, &c);
  if (!s.bm && !s.planes.units) return false;
  if (s.wgmma.rows) cuda_conv_pack(g, gr, &c, &s);
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = op_flops(gr->e, gr->op);
  k->grid = s.blocks;
  k->min_blocks = !s.tensor;
  k->shared = s.shared;
  kernel_schedule(k, &grid_conv_kind, &s, sizeof s);
  cuda_conv_geometry(x, &c, NULL);
  cuda_conv_size(g, gr->e, x, &c, NULL, NULL);
  if (s.planes.units) {
    k->block = s.planes.threads;
    k->min_blocks = 0;
    print_planes(g, gr, x, &s.planes);
    return true;
  }
  if (s.tensor_box.wide)
    cuda_tensor_conv_box(g, gr, k, &c, &s);
  else
    print_tiles(g, gr, k, &c, &s);
  if (s.wgmma.rows) cuda_conv_sm90a(g, gr, k, &c, &s);
  return true;
}
