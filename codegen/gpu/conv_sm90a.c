/* Convolutions and their gradients with respect to the image on sm_90a: WgmmaConv of
   text/wgmma_conv_image.h. Contract: the plain kernel is printed. A launch before it, of which
   there are no blocks on other architectures, puts the filters into scratch in the order of
   k-tiles. */
#include "codegen/gpu/conv.h"
#include "codegen/print/printer.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/patches.h"
#include "codegen/schedule/wgmma_conv.h"

/* Places along axis 2 or 3 of images: a number, or what a run has of them, as pitch_of of flat.c
   computes it. */
static const char *pitch_text(Gen *g, const Entry *e, const ConvGeom *c, const FlatTile *tile,
                              const FlatAxis *f, int axis) {
  const char *in = dims_text(g, e, c->x, axis, axis + 1),
             *out = dims_text(g, e, c->y, axis, axis + 1);
  if (text_is_number(in) && text_is_number(out))
    return arena_printf(g->a, "%lld", (long long)f->pitch);
  if (tile->patches) return out;
  const char *strided = text_ceil_div(g->a, in, axis == 2 ? c->h.stride : c->w.stride);
  const char *sources = tile->back ? out : strided, *results = tile->back ? strided : out;
  const long long before = f->first < 0 ? -f->first : 0, behind = f->last > 0 ? f->last : 0;
  return arena_printf(g->a, "(%s + %lld > %s + %lld ? %s + %lld : %s + %lld)", sources, before,
                      results, behind, sources, before, results, behind);
}

const char *cuda_flat_places(Gen *g, const Entry *e, const ConvGeom *c) {
  const FlatTile none = {0};
  const FlatAxis h = flat_axis(&c->h), w = flat_axis(&c->w);
  const char *of_image =
      text_product(g->a, pitch_text(g, e, c, &none, &h, 2), pitch_text(g, e, c, &none, &w, 3));
  return text_product(g->a, dims_text(g, e, c->x, 0, 1), of_image);
}

void cuda_flat_numbers(Gen *g, const Entry *e, Text *x, const ConvGeom *c, const FlatTile *tile) {
  const FlatAxis h = tile->back ? flat_axis_back(&c->h) : flat_axis(&c->h),
                 w = tile->back ? flat_axis_back(&c->w) : flat_axis(&c->w);
  const int64_t rows = tile->by_rows ? c->h.taps : 0;
  const struct {
    const char *name;
    int64_t n;
  } fields[] = {{"STEP_W", w.step},
                {"STEP_H", h.step},
                {"PLANES_W", w.planes},
                {"PLANES_H", h.planes},
                {"PLANES", flat_planes(&h, &w, rows)},
                {"PHASE_W", w.phase},
                {"PHASE_H", h.phase},
                {"PHASES_W", w.phases},
                {"PHASES_H", h.phases},
                {"FIRST_W", w.first},
                {"FIRST_H", h.first},
                {"BY_ROWS", tile->by_rows},
                {"SPAN", tile->span},
                {"PLACES", flat_pixels(c, &h, &w)}};
  const char *pitch = pitch_text(g, e, c, tile, &w, 3);
  const char *reach = arena_printf(g->a, "%lld", (long long)tile->span);
  if (!text_is_number(pitch) && !rows && !tile->patches)
    reach = arena_printf(g->a, "(%lld * %s + %lld)", (long long)(h.last - h.first), pitch,
                         (long long)(w.last - w.first));
  const struct {
    const char *name, *n;
  } of_run[] = {{"PITCH", pitch}, {"ROWS", pitch_text(g, e, c, tile, &h, 2)}, {"REACH", reach}};
  Text line = text_new(x->a, 0), names = text_new(x->a, 0), values = text_new(x->a, 0);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    text_add(&line, "%s%s = %lld", i ? ", " : "", fields[i].name, (long long)fields[i].n);
  for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++) {
    if (text_is_number(of_run[i].n)) {
      text_add(&line, ", %s = %s", of_run[i].name, of_run[i].n);
      continue;
    }
    text_add(&names, "int %s; ", of_run[i].name);
    text_add(&values, "%s(int)%s", values.s.n ? ", " : "", of_run[i].n);
  }
  text_line(x, "struct Flat { %senum { %s }; };", text_str(&names), text_str(&line));
  text_line(x, "const Flat flat = {%s};", text_str(&values));
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

static void print_results(Gen *g, const Group *gr, Text *x, const GridConvSchedule *s) {
  text_line(x, "f32 *const results = Tile::results(smem);");
  text_line(x, "#pragma unroll");
  text_open(x, "for (int chunk = 0; chunk < Tile::CHUNKS; chunk++) {");
  text_line(x, "Tile::put(results, c, chunk);");
  text_line(x, "warp_sync();");
  text_line(x, "const ConvPixel of = Tile::pixel(tile, chunk, flat, size);");
  text_line(x, "#pragma unroll 8");
  text_open(x, "for (int r = 0; r < 16; r++) {");
  text_line(x, "const int m = Tile::row(tile, r);");
  text_line(x, "if (!of.in || m >= %lld) continue;", (long long)s->m);
  text_line(x, "const f32 acc = results[r * Tile::LINE + (int)threadIdx.x %% 32];");
  cuda_conv_result(g, gr, x, "tile.group", "acc");
  text_close(x, "}");
  text_line(x, "warp_sync();");
  text_close(x, "}");
}

void cuda_conv_sm90a(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                     const GridConvSchedule *s) {
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
  cuda_conv_size(g, gr->e, x, c, NULL, NULL);
  const FlatTile flat = {.back = back,
                         .by_rows = w->by_rows,
                         .patches = along,
                         .span = wgmma_conv_span(&shape, w->by_rows)};
  cuda_flat_numbers(g, gr->e, x, &of, &flat);
  text_line(x,
            "typedef WgmmaConv<%s, %s<Geometry, Flat>, Geometry, Flat, %s, %s, %d, "
            "%d, %d, %d, %d> Tile;",
            cuda_conv_source(g, gr, along), back ? "FlatInputGrad" : "FlatForward", g->index,
            element_of(gr), w->rows, w->columns, w->depth, w->images, w->filters);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
  text_line(x, "__shared__ Tile::Barriers barriers;");
  text_line(x, "Tile::start(barriers);");
  text_open(x, "if (threadIdx.x >= Tile::COPY) {");
  text_line(x, "registers_release<104>();");
  text_line(x, "if (threadIdx.x < Tile::GATHER)");
  text_line(x, "  Tile::copy(smem, barriers, (const Tile::Stored *)scratch, flat, size);");
  text_line(x, "else");
  text_line(x, "  Tile::gather%s(smem, barriers, in%d, flat, size);", along ? "_patches" : "",
            group_arg(gr, gr->root->operands[0]));
  text_close(x, "} else {");
  x->indent++;
  text_line(x, "registers_take<200>();");
  text_line(x, "Tile::ImagePlace image_place = {0, 0};");
  text_line(x, "Tile::FilterPlace filter_place = {0, 0};");
  text_line(x, "#pragma unroll 1");
  text_open(x, "for (int at = (int)blockIdx.x; at < Tile::TILES; at += (int)gridDim.x) {");
  text_line(x, "const Tile::Part tile = Tile::tile_at(at);");
  text_line(x, "if (Tile::behind(tile, flat, size)) continue;");
  text_line(x, "f32 c[2][%d];", w->columns / 4);
  text_line(x, "Tile::multiply(c, smem, barriers, tile, image_place, filter_place, flat);");
  print_results(g, gr, x, s);
  text_close(x, "}");
  text_close(x, "}");
  k->variant = own;
}
