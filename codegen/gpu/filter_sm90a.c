/* Gradients with respect to filters on sm_90a: WgmmaConvFilter of text/wgmma_conv.h. Contract: the
   plain kernel is printed, and writes partial sums to scratch as this one does; a launch behind
   adds them. */
#include "codegen/gpu/conv.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/wgmma_filter.h"

const char *cuda_filter_sm90a_parts(Gen *g, const Group *gr, Text *x, const ConvGeom *c,
                                    const WgmmaFilterSchedule *s) {
  const char *pixels = s->columns ? text_product(g->a, dims_text(g, gr->e, c->x, 0, 1),
                                                 dims_text(g, gr->e, c->y, 2, 4))
                                  : cuda_flat_places(g, gr->e, c);
  text_line(x, "const int length = %s;", cuda_filter_length(g, gr, c, &s->share, pixels));
  return arena_printf(g->a, "((%s + length - 1) / length)", pixels);
}

/* What a block sums of the run's pixels: a number, or `length`; blocks of clusters that have none
   return. */
static const char *begin_part(Gen *g, const Group *gr, Text *x, const ConvGeom *c,
                              const WgmmaFilterSchedule *s) {
  if (!dims_bounded(c->x, 0, 4)) return arena_printf(g->a, "%lld", (long long)s->chunk);
  if (s->few) text_line(x, "if (%s < 1) return;", cuda_filter_room_text(g, gr, c));
  const char *parts = cuda_filter_sm90a_parts(g, gr, x, c, s);
  const char *part = s->cluster > 1 ? arena_printf(g->a, "part - part %% %d", s->cluster) : "part";
  text_line(x, "if (%s >= %s) return;", part, parts);
  return "length";
}

/* Copied as they lie: WgmmaCopiedFilter of text/wgmma_filter_copied.h. */
static void print_copied(Gen *g, const Group *gr, KernelVariant *own, const ConvGeom *c,
                         const WgmmaFilterSchedule *s) {
  Text *x = &own->text;
  const Dtype in = value_type(gr->e, gr->root->operands[0])->dtype;
  const long long down = s->down, across = s->across, tiles = down * across * c->groups;
  cuda_conv_geometry(x, c, NULL);
  cuda_conv_size(g, gr->e, x, c, NULL, NULL);
  text_line(x, "typedef WgmmaCopiedFilter<%s, Geometry, %s, %s, %d, %d, %d, %d, %d> Tile;",
            s->along ? arena_printf(g->a, "ConvPatches<Geometry, %s, %d>", g->index, s->along)
                     : arena_printf(g->a, "ConvForward<Geometry, %s>", g->index),
            g->index, in == DT_F16 ? "WgmmaF16" : "WgmmaBf16", s->beside, s->rows, s->columns,
            s->depth, s->stages);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
  text_line(x, "__shared__ uint64_t full[%d], empty[%d];", s->stages, s->stages);
  text_line(x, "const int part = (int)(blockIdx.x / %lldu), tile = (int)(blockIdx.x %% %lldu);",
            tiles, tiles);
  text_line(x, "const int m0 = tile %% %lld * %d;", down, s->rows * WGMMA_SIDE);
  text_line(x, "const int n0 = tile / %lld %% %lld * %lld;", down, across,
            (long long)wgmma_copied_weights(s));
  text_line(x, "const int group = tile / %lld;", down * across);
  const char *chunk = begin_part(g, gr, x, c, s);
  text_line(x, "Tile::start(full, empty);");
  text_open(x, "if (threadIdx.x >= Tile::COPY) {");
  text_line(x, "Tile::copy(smem, full, empty, in%d, in%d, group, m0, n0, part, %s, size);",
            group_arg(gr, gr->root->operands[0]), group_arg(gr, gr->root->operands[1]), chunk);
  text_close(x, "} else {");
  x->indent++;
  text_line(x, "f32 c[2][%d];", s->columns / 4);
  text_line(x, "Tile::multiply(c, smem, full, empty, part, %s, size);", chunk);
  text_line(x, "Tile::store((f32 *)scratch + (%s)part * %lld, c, group, m0, n0);", g->index,
            (long long)gr->domain->numel);
  text_close(x, "}");
}

void cuda_filter_sm90a(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                       const WgmmaFilterSchedule *s) {
  KernelVariant *own = ARENA_NEW(g->a, KernelVariant);
  *own = (KernelVariant){.text = text_new(g->a, 1),
                         .grid = s->blocks,
                         .block = s->columns ? WGMMA_COPIED_THREADS : WGMMA_FILTER_THREADS,
                         .shared = s->shared,
                         .min_blocks = 1};
  Text *x = &own->text;
  Dtype in = value_type(gr->e, gr->root->operands[0])->dtype;
  k->variant = own;
  if (s->columns) {
    print_copied(g, gr, own, c, s);
    return;
  }
  long long down = s->down, across = s->across, groups = s->tap_groups;
  cuda_conv_geometry(x, c, NULL);
  cuda_conv_size(g, gr->e, x, c, NULL, NULL);
  const FlatAxis h = flat_axis(&c->h), w = flat_axis(&c->w);
  const FlatTile flat = {.by_rows = s->by_rows,
                         .span = flat_reach(&h, &w, s->by_rows ? c->h.taps : 0)};
  cuda_flat_numbers(g, gr->e, x, c, &flat);
  text_line(x, "typedef WgmmaConvFilter<Geometry, Flat, %s, %s, %d, %d, %d, %d, %d> Tile;",
            g->index, in == DT_F16 ? "WgmmaF16" : "WgmmaBf16", s->rows, s->taps, s->depth,
            s->stages, s->cluster);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
  text_line(x, "__shared__ uint64_t full[%d], empty[%d];", s->stages, s->stages);
  /* those of a cluster follow each other: the parts of a tile */
  text_line(x, "const int part = (int)(blockIdx.x %% %lldu), tile = (int)(blockIdx.x / %lldu);",
            (long long)s->parts, (long long)s->parts);
  text_line(x, "const int m0 = tile %% %lld * %d;", down, s->rows * WGMMA_SIDE);
  text_line(x, "const int c0 = tile / %lld %% %lld * %d;", down, across, WGMMA_SIDE);
  text_line(x, "const int tap0 = tile / %lld %% %lld * %d;", down * across, groups, s->taps);
  text_line(x, "const int group = tile / %lld;", down * across * groups);
  const char *chunk = begin_part(g, gr, x, c, s);
  text_line(x, "f32 *const sums = (f32 *)scratch + (%s)(part / %d) * %lld;", g->index, s->cluster,
            (long long)gr->domain->numel);
  text_line(x, "Tile::start(full, empty);");
  text_open(x, "if (threadIdx.x >= Tile::GATHER) {");
  text_line(x, "Tile::gather(smem, full, empty, in%d, in%d, group, m0, c0, part, %s, flat, size);",
            group_arg(gr, gr->root->operands[0]), group_arg(gr, gr->root->operands[1]), chunk);
  text_close(x, "} else {");
  x->indent++;
  text_line(x, "f32 c[Tile::EACH][2][Tile::SUMS / 2];");
  text_line(x, "Tile::multiply(c, smem, full, empty, tap0, part, %s, flat, size);", chunk);
  text_line(x, "Tile::finish(sums, smem, c, group, m0, c0, tap0);");
  text_close(x, "}");
  text_line(x, "Tile::combine(sums, smem, group, m0, c0, tap0);");
  own->cluster = s->cluster;
}
