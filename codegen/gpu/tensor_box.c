/* Convolutions of f16 and bf16 of few channels a group, and their gradients, on tensor cores by
   boxes of pixels (text/tensor_box.h). */
#include "codegen/gpu/conv.h"
#include "codegen/print/printer.h"
#include "codegen/program/extent.h"

#include <stdlib.h>

int cuda_tensor_box_threads(const GridTensorBox *b) { return b->warps * WARP; }

const char *cuda_box_choice(Gen *g, const Group *gr, const ConvGeom *c, const int of[CUDA_BOXES]) {
  int last = 0; /* that of the bound */
  while (GRID_BOX_NARROWEST << last < grid_box_wide(c->w.out)) last++;
  const char *columns = dims_text(g, gr->e, c->y, 3, 4);
  const char *text = arena_printf(g->a, "%d", of[last]);
  if (text_is_number(columns)) return text;
  while (last-- > 0)
    text = arena_printf(g->a, "(%s <= %d ? %d : %s)", columns, GRID_BOX_NARROWEST << last, of[last],
                        text);
  return text;
}

/* ceil(n / by), of factors. */
static const char *ceil_text(Gen *g, const char *n, const char *by) {
  return text_is_number(by) ? text_ceil_div(g->a, n, atoll(by))
                            : arena_printf(g->a, "((%s + %s - 1) / %s)", n, by, by);
}

const char *cuda_tensor_boxes(Gen *g, const Group *gr, const ConvGeom *c, const GridTensorBox *b) {
  int high[CUDA_BOXES], wide[CUDA_BOXES];
  for (int i = 0; i < CUDA_BOXES; i++) {
    wide[i] = GRID_BOX_NARROWEST << i;
    high[i] = grid_box_rows(b->area, wide[i]);
  }
  const char *down = ceil_text(g, dims_text(g, gr->e, c->y, 2, 3), cuda_box_choice(g, gr, c, high));
  const char *across =
      ceil_text(g, dims_text(g, gr->e, c->y, 3, 4), cuda_box_choice(g, gr, c, wide));
  return text_product(g->a, dims_text(g, gr->e, c->x, 0, 1), text_product(g->a, down, across));
}

static void print_type(Gen *g, Text *x, const GridFilterSchedule *s, const char *element,
                       const char *name) {
  const GridTensorBox *b = &s->tensor_box;
  text_line(x,
            "typedef TensorFilterBox<Geometry, %s, %s, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d> %s;",
            g->index, element, s->bm, b->warps, b->each, b->channels, b->high, b->wide, b->pitch,
            b->copy, b->copy_dy, b->stages, name);
}

/* Tile, for images as wide as the bound, and Tile8 and Tile16 for those that are so narrow. */
void cuda_tensor_filter_box(Gen *g, Text *x, const ConvGeom *c, const GridFilterSchedule *s,
                            const char *element) {
  print_type(g, x, s, element, "Tile");
  if (dims_bounded(c->y, 3, 4))
    for (int wide = GRID_BOX_NARROWEST; wide < s->tensor_box.wide; wide *= 2) {
      GridFilterSchedule narrow = *s;
      grid_filter_take_boxes(&narrow, c, wide);
      print_type(g, x, &narrow, element, arena_printf(g->a, "Tile%d", wide));
    }
  text_line(x, "extern __shared__ __align__(128) char smem[];");
}

void cuda_tensor_filter_run(Gen *g, const Group *gr, Text *x, const ConvGeom *c, const char *part,
                            const char *boxes) {
  const int last = dims_bounded(c->y, 3, 4) ? grid_box_wide(c->w.out) : GRID_BOX_NARROWEST;
  for (int wide = GRID_BOX_NARROWEST; wide <= last; wide *= 2) {
    const char *name = wide < last ? arena_printf(g->a, "Tile%d", wide) : "Tile";
    if (wide < last) text_line(x, "if (size.OW <= %d)", wide);
    text_line(x, "%s%s::run(acc, smem, in%d, in%d, group, m0, n0, %s, %s, size);",
              last > GRID_BOX_NARROWEST ? "  " : "", name, group_arg(gr, gr->root->operands[0]),
              group_arg(gr, gr->root->operands[1]), part, boxes);
    if (wide < last) text_line(x, "else");
  }
}

/* Sums of eight channels at a time go through shared memory. */
static void print_results(Gen *g, const Group *gr, Text *x, const GridConvSchedule *s) {
  text_line(x, "const ConvPixel of = Tile::Rows::place(box, (int)threadIdx.x, size);");
  text_line(x, "f32 *const results = Tile::results(smem);");
  text_line(x, "#pragma unroll");
  text_open(x, "for (int i = 0; i < %d; i++) {", s->tm);
  text_line(x, "Tile::put(results, sums, i);");
  text_line(x, "warp_sync();");
  text_line(x, "#pragma unroll 4");
  text_open(x, "for (int r = 0; r < Tile::OCTET; r++) {");
  text_line(x, "const int m = m0 + i * Tile::OCTET + r;");
  text_line(x, "if (m >= %lld || !of.in) continue;", (long long)s->m);
  text_line(x, "const f32 acc = results[r * Tile::LINE + (int)threadIdx.x %% 32];");
  cuda_conv_result(g, gr, x, "group", "acc");
  text_close(x, "}");
  text_line(x, "warp_sync();");
  text_close(x, "}");
}

void cuda_tensor_conv_box(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                          const GridConvSchedule *s) {
  const Op *op = gr->root;
  const GridTensorBox *b = &s->tensor_box;
  const int image = group_arg(gr, op->operands[0]);
  Text *x = &k->text;
  k->block = cuda_tensor_box_threads(b);
  k->min_blocks = CONV_RING_THREADS / k->block;
  text_line(x, "typedef TensorConvBox<Geometry, %s, %s, %s, %s, %d, %d, %d, %d, %d, %d, %d> Tile;",
            op->kind == OP_CONV ? "false" : "true", g->index,
            cuda_mma(value_type(gr->e, op->operands[0])->dtype),
            op->attr[AT_ROUND_FILTERS].i ? "true" : "false", s->bm, b->warps, b->each, b->high,
            b->wide, b->pitch, b->copy);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
  text_line(x, "const int m0 = (int)(blockIdx.x %% %lldu) * %d;", (long long)s->down, s->bm);
  text_line(x, "const int first = (int)(blockIdx.x / %lldu %% %lldu) * %lld;", (long long)s->down,
            (long long)s->across, (long long)b->boxes);
  text_line(x, "const int end = smaller(first + %lld, Tile::Rows::all(size));",
            (long long)b->boxes);
  text_line(x, "const int group = (int)(blockIdx.x / %lldu);", (long long)(s->down * s->across));
  if (dims_bounded(c->x, 0, 4)) text_line(x, "if (first >= end) return;");
  text_line(x, "Tile::start(smem, in%d, in%d, group, m0, first, size);",
            group_arg(gr, op->operands[1]), image);
  text_line(x, "#pragma unroll 1");
  text_open(x, "for (int box = first; box < end; box++) {");
  text_line(x, "f32 sums[%d][%d];", s->tm, s->tn);
  text_line(x, "if (!Tile::run(sums, smem, in%d, group, box, box - first, end, size)) continue;",
            image);
  print_results(g, gr, x, s);
  text_close(x, "}");
}
