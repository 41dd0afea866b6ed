/* Convolutions and their gradients with respect to the image on sm_90a: WgmmaConv of
   text/wgmma_conv_image.h. Contract: the plain kernel is printed. A launch before it, of which
   there are no blocks on other architectures, puts the filters into scratch in the order of
   k-tiles. */
#include "codegen/gpu/conv.h"
#include "codegen/print/printer.h"
#include "codegen/schedule/patches.h"
#include "codegen/schedule/wgmma_conv.h"

void cuda_flat_numbers(Text *x, const FlatAxis *h, const FlatAxis *w, int64_t span) {
  const struct {
    const char *name;
    int64_t n;
  } fields[] = {{"PITCH", w->pitch},
                {"ROWS", h->pitch},
                {"STEP_W", w->step},
                {"STEP_H", h->step},
                {"PLANES_W", w->planes},
                {"PLANES_H", h->planes},
                {"PHASE_W", w->phase},
                {"PHASE_H", h->phase},
                {"PHASES_W", w->phases},
                {"PHASES_H", h->phases},
                {"FIRST", h->first * w->pitch + w->first},
                {"SPAN", span}};
  Text line = text_new(x->a, 0);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    text_add(&line, "%s%s = %lld", i ? ", " : "", fields[i].name, (long long)fields[i].n);
  text_line(x, "struct Flat { enum { %s }; };", text_str(&line));
}

/* The convolution of one tap that patches are, or this one. */
static int geometry_of(const Group *gr, const ConvGeom *c, const WgmmaConvSchedule *w,
                       ConvGeom *of) {
  *of = *c;
  if (w->along) conv_patches(c, dtype_size(value_type(gr->e, gr->root->operands[0])->dtype), of);
  return w->along;
}

static const char *element_of(const Group *gr) {
  Dtype in = value_type(gr->e, gr->root->operands[0])->dtype;
  return in == DT_F16 ? "WgmmaF16" : "WgmmaBf16";
}

void cuda_conv_pack(Gen *g, const Group *gr, const ConvGeom *c, const GridConvSchedule *s) {
  const WgmmaConvSchedule *w = &s->wgmma;
  const bool rounds = gr->root->attr[AT_ROUND_FILTERS].i != 0;
  const int filters = group_arg(gr, gr->root->operands[1]);
  const int64_t parts = w->down * w->rows, units = w->k_tiles * (w->depth / 8);
  Kernel *k = cuda_kernel_next(g, gr, "pack");
  kernel_schedule(k, &grid_conv_kind, s, sizeof *s);
  k->grid = 0;
  for (int i = 0; i < k->nargs; i++)
    k->args[i].access.read = i == filters, k->args[i].access.write = i == kernel_scratch_arg(k);
  KernelVariant *own = ARENA_NEW(g->a, KernelVariant);
  *own = (KernelVariant){.text = text_new(g->a, 1),
                         .grid = c->groups * parts * (WGMMA_SIDE / WGMMA_PACK_ROWS) * units,
                         .block = WGMMA_PACK_THREADS,
                         .min_blocks = 1};
  Text *x = &own->text;
  cuda_conv_geometry(x, c, NULL);
  text_line(x, "typedef WgmmaConvPack<%s, %s, %s, %s, %lld, %d> Pack;",
            cuda_conv_source(g, gr, w->along), g->index, element_of(gr), rounds ? "true" : "false",
            (long long)parts, w->depth);
  text_line(x, "__shared__ __align__(16) Pack::Stored shared[Pack::SHARED];");
  text_line(x, "Pack::run((Pack::Stored *)scratch, shared, in%d);", filters);
  k->variant = own;
}

static void print_results(Gen *g, const Group *gr, Text *x, const GridConvSchedule *s,
                          const char *images) {
  text_line(x, "f32 *const results = Tile::results(smem);");
  text_line(x, "#pragma unroll");
  text_open(x, "for (int chunk = 0; chunk < Tile::CHUNKS; chunk++) {");
  text_line(x, "Tile::put(results, c, chunk);");
  text_line(x, "warp_sync();");
  text_line(x, "const ConvPixel of = Tile::pixel(tile, chunk);");
  text_line(x, "#pragma unroll 8");
  text_open(x, "for (int r = 0; r < 16; r++) {");
  text_line(x, "const int m = Tile::row(tile, r);");
  text_line(x, "if (!of.in || m >= %lld%s) continue;", (long long)s->m,
            images ? arena_printf(g->a, " || of.n >= %s", images) : "");
  text_line(x, "const f32 acc = results[r * Tile::LINE + (int)threadIdx.x %% 32];");
  cuda_conv_result(g, gr, x, "tile.group", "acc");
  text_close(x, "}");
  text_line(x, "warp_sync();");
  text_close(x, "}");
}

void cuda_conv_sm90a(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                     const GridConvSchedule *s, const char *images) {
  const WgmmaConvSchedule *w = &s->wgmma;
  const bool back = gr->root->kind == OP_CONV_INPUT_GRAD;
  ConvGeom of;
  const int along = geometry_of(gr, c, w, &of);
  const WgmmaConvShape shape = wgmma_conv_shape(&of, back, along);
  KernelVariant *own = ARENA_NEW(g->a, KernelVariant);
  *own = (KernelVariant){.text = text_new(g->a, 1),
                         .grid = w->blocks,
                         .block = WGMMA_CONV_THREADS,
                         .shared = w->shared,
                         .min_blocks = 1};
  Text *x = &own->text;
  cuda_conv_geometry(x, c, NULL);
  cuda_flat_numbers(x, &shape.h, &shape.w, wgmma_conv_span(&shape));
  text_line(x,
            "typedef WgmmaConv<%s, %s<Geometry, Flat>, Geometry, Flat, %s, %s, %d, "
            "%d, %d, %d, %d> Tile;",
            cuda_conv_source(g, gr, along), back ? "FlatInputGrad" : "FlatForward", g->index,
            element_of(gr), w->rows, w->columns, w->depth, w->images, w->filters);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
  text_line(x, "__shared__ Tile::Barriers barriers;");
  const char *count = images ? images : "Geometry::N";
  text_line(x, "Tile::start(barriers);");
  text_open(x, "if (threadIdx.x >= Tile::COPY) {");
  text_line(x, "registers_release<104>();");
  text_line(x, "if (threadIdx.x < Tile::GATHER)");
  text_line(x, "  Tile::copy(smem, barriers, (const Tile::Stored *)scratch, %s);", count);
  text_line(x, "else");
  text_line(x, "  Tile::gather%s(smem, barriers, in%d, %s);", along ? "_patches" : "",
            group_arg(gr, gr->root->operands[0]), count);
  text_close(x, "} else {");
  x->indent++;
  text_line(x, "registers_take<200>();");
  text_line(x, "Tile::ImagePlace image_place = {0, 0};");
  text_line(x, "Tile::FilterPlace filter_place = {0, 0};");
  text_line(x, "#pragma unroll 1");
  text_open(x, "for (int at = (int)blockIdx.x; at < Tile::TILES; at += (int)gridDim.x) {");
  text_line(x, "const Tile::Part tile = Tile::tile_at(at);");
  text_line(x, "if (Tile::behind(tile, %s)) continue;", count);
  text_line(x, "f32 c[2][%d];", w->columns / 4);
  text_line(x, "Tile::multiply(c, smem, barriers, tile, image_place, filter_place);");
  print_results(g, gr, x, s, images);
  text_close(x, "}");
  text_close(x, "}");
  k->variant = own;
}
